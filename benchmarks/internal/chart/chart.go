// Package chart draws the pictures of the documentation: medians as lines, with a band around
// each, on labelled axes, at a size that can be read in a README.
package chart

import (
	"fmt"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// The size of a picture. At twice the 96 dots per inch of a web page it is sharp on fine
// screens too.
const (
	width  = 7.3 * vg.Inch // 700 px in a page
	height = 3.6 * vg.Inch
	dpi    = 144

	margin = 3 * vg.Millimeter // for the last label of the x axis
)

// Chart is a picture.
type Chart struct {
	// Title, X and Y are its labels, with units.
	Title, X, Y string
	// LogX and LogY make the axes logarithmic.
	LogX, LogY bool
	// Series are the lines.
	Series []Series
}

// Series is a line, with a band if Low and High of its points differ.
type Series struct {
	Name   string
	Points []Point
	// Dashed is for what is compared with.
	Dashed bool
	// Like is the index of the series whose colour this one has, counted from 1; 0 is a
	// colour of its own.
	Like int
}

// colours can be told apart by the colour blind (Okabe and Ito).
var colours = []color.NRGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{86, 86, 86, 255}, {230, 159, 0, 255},
}

// legendLine is the share of the height that a line of the legend takes.
const legendLine = 0.13

// bandAlpha is how opaque bands are, of 255.
const bandAlpha = 50

// Write draws the picture into a PNG file, whose folder is made.
func (c Chart) Write(path string) error {
	p, x, y := c.axes()
	for i, s := range c.Series {
		colour := colours[i%len(colours)]
		if s.Like > 0 {
			colour = colours[(s.Like-1)%len(colours)]
		}
		if err := s.draw(p, x, y, colour); err != nil {
			return fmt.Errorf("draw %s, %s: %w", c.Title, s.Name, err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	canvas := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
	p.Draw(draw.Crop(draw.New(canvas), 0, -margin, 0, 0))
	small := png.Encoder{CompressionLevel: png.BestCompression}
	if err := small.Encode(f, paletted(canvas.Image())); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

func (c Chart) axes() (p *plot.Plot, x, y axis) {
	p = plot.New()
	for _, s := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label,
		&p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		s.Font.Variant = "Sans"
	}
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.Title.Padding = 2 * vg.Millimeter
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding = vg.Millimeter
	p.Legend.XOffs = 2 * vg.Millimeter
	p.Add(grid())
	named := 0.0
	for _, s := range c.Series {
		if s.Name != "" {
			named++
		}
	}
	at := func(p Point) float64 { return p.X }
	low, high := c.extent(at, at)
	if !c.LogX {
		low = 0
	}
	x = axis{c.LogX, low}
	x.set(&p.X, high, 0)
	low, high = c.extent(
		func(p Point) float64 { return p.Low }, func(p Point) float64 { return p.High })
	if !c.LogY {
		low = 0
	}
	y = axis{c.LogY, low}
	y.set(&p.Y, high, legendLine*named)
	return p, x, y
}

func grid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Horizontal.Color, g.Vertical.Color = color.Gray{225}, color.Gray{240}
	return g
}

// extent is the range of all values, of which those that are 0 do not count.
func (c Chart) extent(low, high func(p Point) float64) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, s := range c.Series {
		for _, p := range s.Points {
			if l := low(p); l > 0 {
				least = min(least, l)
			}
			most = max(most, high(p))
		}
	}
	if least > most {
		return 1, 2
	}
	return least, most
}

// draw adds the band, the line, its points, and its entry of the legend.
func (s Series) draw(p *plot.Plot, x, y axis, colour color.NRGBA) error {
	var middle, around plotter.XYs
	wide := false
	for _, q := range s.Points {
		middle = append(middle, plotter.XY{X: x.at(q.X), Y: y.at(q.Middle)})
		around = append(around, plotter.XY{X: x.at(q.X), Y: y.at(q.High)})
		wide = wide || q.High > q.Low
	}
	for _, q := range slices.Backward(s.Points) {
		around = append(around, plotter.XY{X: x.at(q.X), Y: y.at(q.Low)})
	}
	if wide && len(s.Points) > 1 {
		band, err := plotter.NewPolygon(around)
		if err != nil {
			return err
		}
		faint := colour
		faint.A = bandAlpha
		band.Color, band.LineStyle.Width = faint, 0
		p.Add(band)
	}
	line, points, err := plotter.NewLinePoints(middle)
	if err != nil {
		return err
	}
	line.Color, line.Width = colour, vg.Points(1.6)
	points.Color, points.Radius, points.Shape = colour, vg.Points(2), draw.CircleGlyph{}
	if s.Dashed {
		line.Width, line.Dashes = vg.Points(1.1), []vg.Length{vg.Points(4), vg.Points(3)}
		p.Add(line)
	} else {
		p.Add(line, points)
	}
	if s.Name != "" {
		p.Legend.Add(s.Name, line)
	}
	return nil
}
