package xlsx

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// part is one entry of the package: where its bytes are and how many there
// should be.
type part struct {
	name         string
	method       uint16
	packed, size int64
	header       int64 // of the local header
}

// archive is the directory of a zip file. Nothing is believed that has not
// been held against the limits; archive/zip reads as many entries as a file
// pretends to have.
type archive struct {
	r     io.ReaderAt
	size  int64
	lim   Limits
	parts map[string]part
}

const (
	endSize     = 22
	endSign     = "PK\x05\x06"
	dirSize     = 46
	dirSign     = "PK\x01\x02"
	localSize   = 30
	localSign   = "PK\x03\x04"
	maxComment  = 1<<16 - 1
	maxDirBytes = 1 << 20
	stored      = 0
	deflated    = 8
	encrypted   = 1
	wide        = 1<<32 - 1
)

func openArchive(r io.ReaderAt, size int64, lim Limits) (*archive, error) {
	tail := make([]byte, min(size, endSize+maxComment))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read directory: %w", err)
	}
	at := bytes.LastIndex(tail, []byte(endSign))
	if at < 0 || len(tail)-at < endSize {
		return nil, formatError("no zip file")
	}
	end := tail[at:]
	count := int(binary.LittleEndian.Uint16(end[10:]))
	dirBytes := int64(binary.LittleEndian.Uint32(end[12:]))
	dirAt := int64(binary.LittleEndian.Uint32(end[16:]))
	switch {
	case count > lim.Entries:
		return nil, limitError(fmt.Sprintf("%d entries, at most %d", count, lim.Entries))
	case dirBytes > maxDirBytes:
		return nil, limitError(fmt.Sprintf("a directory of %d bytes, at most %d", dirBytes, maxDirBytes))
	case dirAt+dirBytes > size:
		return nil, formatError("the directory lies outside of the file")
	}
	dir := make([]byte, dirBytes)
	if n, err := r.ReadAt(dir, dirAt); n < len(dir) {
		return nil, fmt.Errorf("read directory: %w", err)
	}
	a := &archive{r: r, size: size, lim: lim, parts: make(map[string]part, count)}
	return a, a.readDirectory(dir, count)
}

func (a *archive) readDirectory(dir []byte, count int) error {
	var packed, total int64
	for range count {
		if len(dir) < dirSize || string(dir[:4]) != dirSign {
			return formatError("the directory is damaged")
		}
		p := part{
			method: binary.LittleEndian.Uint16(dir[10:]),
			packed: int64(binary.LittleEndian.Uint32(dir[20:])),
			size:   int64(binary.LittleEndian.Uint32(dir[24:])),
			header: int64(binary.LittleEndian.Uint32(dir[42:])),
		}
		flags := binary.LittleEndian.Uint16(dir[8:])
		name, extra := int(binary.LittleEndian.Uint16(dir[28:])), int(binary.LittleEndian.Uint16(dir[30:]))
		comment := int(binary.LittleEndian.Uint16(dir[32:]))
		dir = dir[dirSize:]
		if len(dir) < name+extra+comment {
			return formatError("the directory is damaged")
		}
		p.name = partName(string(dir[:name]))
		p.widen(dir[name : name+extra])
		dir = dir[name+extra+comment:]
		if flags&encrypted != 0 {
			return formatError("the file is encrypted")
		}
		packed += p.packed
		total += p.size
		if err := a.check(p); err != nil {
			return err
		}
		if packed > a.size {
			return limitError("its entries overlap")
		}
		if total > a.lim.Total {
			return limitError(fmt.Sprintf("%d bytes in all, at most %d", total, a.lim.Total))
		}
		// Of two entries with one name the first counts, here and everywhere.
		if _, twice := a.parts[p.name]; !twice {
			a.parts[p.name] = p
		}
	}
	return nil
}

// widen reads the 64-bit sizes that some writers always put beside.
func (p *part) widen(extra []byte) {
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		extra = extra[4:]
		if len(extra) < n {
			return
		}
		if id == 1 {
			field := extra[:n]
			for _, v := range []*int64{&p.size, &p.packed, &p.header} {
				if *v == wide && len(field) >= 8 {
					*v = int64(binary.LittleEndian.Uint64(field) & (1<<62 - 1))
					field = field[8:]
				}
			}
			return
		}
		extra = extra[n:]
	}
}

// smallPart is what may be packed as tightly as it likes.
const smallPart = 1 << 20

func (a *archive) check(p part) error {
	switch {
	case p.packed > a.size || p.header > a.size:
		return formatError("an entry lies outside of the file")
	case p.size > smallPart && p.size/max(p.packed, 1) > int64(a.lim.Ratio):
		return limitError(fmt.Sprintf("an entry of %d bytes is packed into %d", p.size, p.packed))
	}
	return nil
}

// partName brings the name of an entry into the form that references have.
func partName(s string) string {
	return strings.ToLower(strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(s, `\`, "/")), "/"))
}

// open returns the bytes of an entry. Reading fails as soon as there are more
// than the directory says or than one entry may have.
func (a *archive) open(name string) (io.Reader, error) {
	p, ok := a.parts[partName(name)]
	if !ok {
		return nil, formatError("it has no " + name)
	}
	if p.size > a.lim.Part {
		return nil, limitError(fmt.Sprintf("%s has %d bytes, at most %d", p.name, p.size, a.lim.Part))
	}
	var head [localSize]byte
	if n, err := a.r.ReadAt(head[:], p.header); n < localSize {
		return nil, fmt.Errorf("read %s: %w", p.name, err)
	}
	if string(head[:4]) != localSign {
		return nil, formatError("an entry is damaged")
	}
	start := p.header + localSize + int64(binary.LittleEndian.Uint16(head[26:])) + int64(binary.LittleEndian.Uint16(head[28:]))
	if start+p.packed > a.size {
		return nil, formatError("an entry lies outside of the file")
	}
	raw := io.NewSectionReader(a.r, start, p.packed)
	switch p.method {
	case stored:
		return &counted{r: raw, left: p.size, name: p.name}, nil
	case deflated:
		return &counted{r: flate.NewReader(raw), left: p.size, name: p.name}, nil
	}
	return nil, formatError("an entry is packed in an unknown way")
}

// counted reads at most as many bytes as were announced, and says when there
// are more or fewer.
type counted struct {
	r    io.Reader
	left int64
	name string
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	if c.left < 0 {
		return 0, c.liar()
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left+1)])
	c.left -= int64(n)
	switch {
	case c.left < 0:
		return 0, c.liar()
	case err == io.EOF && c.left > 0:
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

func (c *counted) liar() error { return limitError(c.name + " has more bytes than it says") }
