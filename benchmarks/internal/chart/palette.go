package chart

import (
	"cmp"
	"image"
	"image/color"
	"slices"
)

// paletted reduces a picture to the 256 colours that it has most of, so that its file is a
// third as large; the others, at the edges of letters and lines, become the nearest of them.
func paletted(src image.Image) *image.Paletted {
	counts := map[color.RGBA]int{}
	bounds := src.Bounds()
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(src.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	all := make([]color.RGBA, 0, len(counts))
	for c := range counts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(number32(a), number32(b)))
	})
	var palette color.Palette
	for _, c := range all[:min(len(all), 256)] {
		palette = append(palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	for _, c := range all {
		nearest[c] = uint8(palette.Index(c))
	}
	p := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			p.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	return p
}

// number32 orders colours of the same count, so that the same picture gives the same file.
func number32(c color.RGBA) uint32 {
	return uint32(c.R)<<24 | uint32(c.G)<<16 | uint32(c.B)<<8 | uint32(c.A)
}
