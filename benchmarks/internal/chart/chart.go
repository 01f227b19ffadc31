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
	"strconv"

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
	p := c.axes()
	for i, s := range c.Series {
		colour := colours[i%len(colours)]
		if s.Like > 0 {
			colour = colours[(s.Like-1)%len(colours)]
		}
		if err := s.draw(p, colour); err != nil {
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

func (c Chart) axes() *plot.Plot {
	p := plot.New()
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
	x := func(p Point) float64 { return p.X }
	low, high := c.extent(x, x)
	scale(&p.X, low, high, c.LogX)
	low, high = c.extent(
		func(p Point) float64 { return p.Low }, func(p Point) float64 { return p.High })
	if !c.LogY {
		low = 0
	}
	// Room for the legend, above the lines.
	named := 0.0
	for _, s := range c.Series {
		if s.Name != "" {
			named++
		}
	}
	room := high + (high-low)*legendLine*named
	if c.LogY {
		room = high * math.Pow(high/low, legendLine*named)
	}
	scale(&p.Y, low, room, c.LogY)
	return p
}

func grid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Horizontal.Color, g.Vertical.Color = color.Gray{225}, color.Gray{240}
	return g
}

// scale sets the range of an axis.
func scale(a *plot.Axis, low, high float64, logarithmic bool) {
	a.Min, a.Max = low, high
	if low == high {
		a.Max = low + 1
	}
	a.Tick.Marker = plot.TickerFunc(ticks(false))
	if logarithmic {
		a.Scale = plot.LogScale{}
		a.Tick.Marker = plot.TickerFunc(ticks(true))
	}
}

// extent is the range of all values. Those that a logarithmic axis can't show do not count.
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

// ticksMin is how many labels a logarithmic axis has at least, or it is labelled as a linear
// one.
const ticksMin = 3

// ticks labels an axis by plain numbers: on a logarithmic one by 1, 2 and 5 times the powers
// of ten.
func ticks(logarithmic bool) func(low, high float64) []plot.Tick {
	return func(low, high float64) []plot.Tick {
		if all := decades(low, high); logarithmic && len(all) >= ticksMin {
			return all
		}
		all := plot.DefaultTicks{}.Ticks(low, high)
		for i, t := range all {
			if t.Label != "" {
				all[i].Label = number(t.Value)
			}
		}
		return all
	}
}

func decades(low, high float64) (all []plot.Tick) {
	if low <= 0 {
		return nil
	}
	for power := math.Floor(math.Log10(low)); power <= math.Log10(high); power++ {
		for _, times := range []float64{1, 2, 5} {
			if x := times * math.Pow(10, power); x >= low*0.999 && x <= high*1.001 {
				all = append(all, plot.Tick{Value: x, Label: number(x)})
			}
		}
	}
	return all
}

// number is x without an exponent, and without digits that mean nothing.
func number(x float64) string {
	if math.Abs(x) >= 1000 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// draw adds the band, the line, its points, and its entry of the legend.
func (s Series) draw(p *plot.Plot, colour color.NRGBA) error {
	var middle, around plotter.XYs
	wide := false
	shown := func(y float64) float64 { return max(y, p.Y.Min) } // 0 has no logarithm
	for _, x := range s.Points {
		middle = append(middle, plotter.XY{X: x.X, Y: shown(x.Middle)})
		around = append(around, plotter.XY{X: x.X, Y: shown(x.High)})
		wide = wide || x.High > x.Low
	}
	for i := range s.Points {
		x := s.Points[len(s.Points)-1-i]
		around = append(around, plotter.XY{X: x.X, Y: shown(x.Low)})
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
