package asset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // pictures that are opened
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // pictures that are opened

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/store"
)

// Sizes of the pictures that are made of a picture, in pixels of the longer
// side.
const (
	thumbSide = 512
	modelSide = 1536
)

// lookAtImage measures a picture and makes a small one of it.
func (l *Library) lookAtImage(ctx context.Context, a store.Asset, r *random) (f Facts, err error) {
	f.Preview.Kind = kindNone
	small, size, err := l.shrink(ctx, r, a, thumbSide)
	if size != (image.Point{}) {
		f.Preview = block.FilePreview{Kind: kindImage, Width: size.X, Height: size.Y}
	}
	if err != nil {
		if isDamage(err) { // its size is known all the same
			return f, nil
		}
		return f, err
	}
	data, mime, err := encode(small)
	if err != nil {
		return f, err
	}
	if _, err := l.Blobs.Put(ctx, thumbKey(a.ID), bytes.NewReader(data)); err != nil {
		return f, fmt.Errorf("keep thumbnail: %w", err)
	}
	sum := sha256.Sum256(data)
	f.Thumb = &Thumb{Mime: mime, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}
	return f, nil
}

// shrink returns a picture whose longer side is at most side, turned as its
// camera was held, and the size of the whole one. Nothing but its pixels
// remains. Pictures with too many pixels are not opened.
func (l *Library) shrink(ctx context.Context, r *random, a store.Asset, side int) (image.Image, image.Point, error) {
	in := func() io.Reader { return io.NewSectionReader(r, 0, a.Size) }
	head := make([]byte, min(a.Size, 64<<10))
	if n, err := r.ReadAt(head, 0); n < len(head) {
		return nil, image.Point{}, fmt.Errorf("read picture: %w", err)
	}
	cfg, _, err := image.DecodeConfig(in())
	if err != nil || cfg.Width <= 0 || cfg.Height <= 0 {
		return nil, image.Point{}, fmt.Errorf("%w: %w", errNoPicture, err)
	}
	turn := 1
	if a.Mime == "image/jpeg" {
		turn = orientation(head)
	}
	size := image.Pt(cfg.Width, cfg.Height)
	if turn >= 5 {
		size = image.Pt(cfg.Height, cfg.Width)
	}
	inner := frameSize(head)
	pixels := max(int64(cfg.Width)*int64(cfg.Height), int64(inner.X)*int64(inner.Y))
	switch cfg.ColorModel {
	case color.RGBA64Model, color.NRGBA64Model, color.Gray16Model:
		pixels *= 2 // each takes as much memory as two of others
	}
	if pixels > int64(l.ImagePixels) {
		return nil, size, fmt.Errorf("%w: %d pixels, at most %d are opened", errDamaged, pixels, l.ImagePixels)
	}
	whole, _, err := image.Decode(in())
	if err != nil {
		if ctx.Err() != nil {
			return nil, size, fmt.Errorf("read picture: %w", context.Cause(ctx))
		}
		return nil, size, fmt.Errorf("%w: %w", errNoPicture, err)
	}
	return turned(scaled(whole, side), turn), size, nil
}

// scaled returns a picture whose longer side is at most side.
func scaled(src image.Image, side int) image.Image {
	b := src.Bounds()
	if b.Dx() <= side && b.Dy() <= side {
		return src
	}
	fitted := func(side int) image.Rectangle {
		if b.Dx() >= b.Dy() {
			return image.Rect(0, 0, side, max(b.Dy()*side/b.Dx(), 1))
		}
		return image.Rect(0, 0, max(b.Dx()*side/b.Dy(), 1), side)
	}
	// Large pictures are made smaller roughly first: the good way takes memory
	// for each of their lines.
	if max(b.Dx(), b.Dy()) > 4*side {
		rough := image.NewRGBA(fitted(4 * side))
		draw.ApproxBiLinear.Scale(rough, rough.Bounds(), src, b, draw.Src, nil)
		src, b = rough, rough.Bounds()
	}
	out := image.NewRGBA(fitted(side))
	draw.BiLinear.Scale(out, out.Bounds(), src, b, draw.Src, nil)
	return out
}

// turned returns a picture as its camera was held: one of the eight ways of
// EXIF.
func turned(src image.Image, how int) image.Image {
	if how <= 1 || how > 8 {
		return src
	}
	b := src.Bounds()
	w, h := b.Dx(), b.Dy()
	size := image.Rect(0, 0, w, h)
	if how >= 5 {
		size = image.Rect(0, 0, h, w)
	}
	out := image.NewRGBA(size)
	for y := range h {
		for x := range w {
			tx, ty := x, y
			switch how {
			case 2:
				tx = w - 1 - x
			case 3:
				tx, ty = w-1-x, h-1-y
			case 4:
				ty = h - 1 - y
			case 5:
				tx, ty = y, x
			case 6:
				tx, ty = h-1-y, x
			case 7:
				tx, ty = h-1-y, w-1-x
			case 8:
				tx, ty = y, w-1-x
			}
			out.Set(tx, ty, src.At(b.Min.X+x, b.Min.Y+y))
		}
	}
	return out
}

// encode writes a picture as JPEG, or as PNG when one can see through it.
func encode(m image.Image) (data []byte, mime string, err error) {
	var b bytes.Buffer
	if o, ok := m.(interface{ Opaque() bool }); ok && !o.Opaque() {
		err = png.Encode(&b, m)
		return b.Bytes(), "image/png", err
	}
	err = jpeg.Encode(&b, m, &jpeg.Options{Quality: 82})
	return b.Bytes(), "image/jpeg", err
}

// orientation reads how the camera was held from the EXIF part of a JPEG: 1 to
// 8, 1 when it does not say.
func orientation(b []byte) int {
	for at := 2; at+4 <= len(b) && b[at] == 0xFF; {
		marker, size := b[at+1], int(binary.BigEndian.Uint16(b[at+2:]))
		if marker == 0xDA || size < 2 || at+2+size > len(b) {
			return 1
		}
		segment := b[at+4 : at+2+size]
		if tiff, ok := bytes.CutPrefix(segment, []byte("Exif\x00\x00")); marker == 0xE1 && ok {
			return orientationOf(tiff)
		}
		at += 2 + size
	}
	return 1
}

func orientationOf(tiff []byte) int {
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if tiff[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 1
	}
	n := int(order.Uint16(tiff[at:]))
	for i := range n {
		entry := at + 2 + int64(i)*12
		if entry+12 > int64(len(tiff)) {
			return 1
		}
		if order.Uint16(tiff[entry:]) == 0x0112 {
			if v := int(order.Uint16(tiff[entry+8:])); v >= 1 && v <= 8 {
				return v
			}
			return 1
		}
	}
	return 1
}

// frameSize reads the size of the picture inside of an extended WebP file,
// which may be another one than the file's.
func frameSize(b []byte) image.Point {
	if len(b) < 16 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WEBP" {
		return image.Point{}
	}
	for at := int64(12); at+8 <= int64(len(b)); {
		size := int64(binary.LittleEndian.Uint32(b[at+4:]))
		body := b[at+8:]
		switch string(b[at : at+4]) {
		case "VP8 ":
			if len(body) >= 10 {
				return image.Pt(int(binary.LittleEndian.Uint16(body[6:])&0x3FFF), int(binary.LittleEndian.Uint16(body[8:])&0x3FFF))
			}
		case "VP8L":
			if len(body) >= 5 {
				v := binary.LittleEndian.Uint32(body[1:])
				return image.Pt(int(v&0x3FFF)+1, int(v>>14&0x3FFF)+1)
			}
		}
		at += 8 + size + size&1
	}
	// It stands too far behind to be looked for: as large as can be.
	return image.Pt(1<<14, 1<<14)
}
