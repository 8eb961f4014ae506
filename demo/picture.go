package demo

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// The pictures of the demonstration are drawn, not taken: they are sample data
// too.

// watchSize is the side of a drawn watch in pixels.
const watchSize = 240

// drawWatch draws a watch with a strap of a colour.
func drawWatch(strap color.NRGBA) ([]byte, error) {
	img := image.NewNRGBA(image.Rect(0, 0, watchSize, watchSize))
	draw.Draw(img, img.Bounds(), image.NewUniform(color.NRGBA{0xf2, 0xf4, 0xf7, 0xff}), image.Point{}, draw.Src)
	draw.Draw(img, image.Rect(92, 12, 148, 228), image.NewUniform(strap), image.Point{}, draw.Src)
	const middle, outer, inner = watchSize / 2, 62.0, 52.0
	for y := range watchSize {
		for x := range watchSize {
			dx, dy := float64(x-middle), float64(y-middle)
			r := math.Hypot(dx, dy)
			switch {
			case r <= inner && hand(dx, dy, -0.5, 34), r <= inner && hand(dx, dy, 1.2, 44):
				img.SetNRGBA(x, y, strap)
			case r <= inner:
				img.SetNRGBA(x, y, color.NRGBA{0x10, 0x16, 0x22, 0xff})
			case r <= outer:
				img.SetNRGBA(x, y, color.NRGBA{0x5b, 0x64, 0x74, 0xff})
			}
		}
	}
	return encodePNG(img)
}

// hand says whether a point is on a hand of a watch.
func hand(dx, dy, angle, length float64) bool {
	along := dx*math.Sin(angle) - dy*math.Cos(angle)
	across := dx*math.Cos(angle) + dy*math.Sin(angle)
	return along >= 0 && along <= length && math.Abs(across) <= 3
}

// bar is a bar of a drawn chart. Its label is ASCII: the font has no more.
type bar struct {
	label string
	value float64
}

const barsWidth, barsHeight = 720, 400

// drawBars draws bars with their values.
func drawBars(title string, bars []bar) ([]byte, error) {
	img := image.NewNRGBA(image.Rect(0, 0, barsWidth, barsHeight))
	ink := color.NRGBA{0x24, 0x2b, 0x38, 0xff}
	draw.Draw(img, img.Bounds(), image.White, image.Point{}, draw.Src)
	text := func(x, y int, s string) {
		(&font.Drawer{Dst: img, Src: image.NewUniform(ink), Face: basicfont.Face7x13, Dot: fixed.P(x, y)}).DrawString(s)
	}
	text(24, 32, title)
	most := 1.0
	for _, b := range bars {
		most = max(most, b.value)
	}
	const left, bottom, top = 24, barsHeight - 48, 64
	step := (barsWidth - 2*left) / max(len(bars), 1)
	for i, b := range bars {
		x := left + i*step
		h := int(b.value / most * (bottom - top))
		draw.Draw(img, image.Rect(x+step/6, bottom-h, x+step*5/6, bottom), image.NewUniform(color.NRGBA{0x2f, 0x6f, 0xed, 0xff}), image.Point{}, draw.Src)
		text(x+step/6, bottom+20, b.label)
		text(x+step/6, bottom-h-8, fmt.Sprintf("%.0f", b.value))
	}
	draw.Draw(img, image.Rect(left, bottom, barsWidth-left, bottom+1), image.NewUniform(ink), image.Point{}, draw.Src)
	return encodePNG(img)
}

func encodePNG(img image.Image) ([]byte, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("encode picture: %w", err)
	}
	return b.Bytes(), nil
}
