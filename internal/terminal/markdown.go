package terminal

import (
	"encoding/json"
	"html"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/inlay-ui/inlay/block"
)

// maxNesting is how deep lists and quotes are indented.
const maxNesting = 6

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList)).Parser()

func drawText(r *Renderer, b block.Block) ([]line, bool) {
	var s string
	if json.Unmarshal(b.Payload, &s) != nil {
		return nil, false
	}
	return r.markdown(s), true
}

// Markdown draws Markdown. HTML in it stays text.
func (r *Renderer) Markdown(s string) string { return r.paint(r.fit(r.markdown(s))) }

func (r *Renderer) markdown(s string) []line {
	source := []byte(Clean(s))
	d := document{source: source}
	return d.blocks(r, markdown.Parse(text.NewReader(source)), 0)
}

type document struct{ source []byte }

// blocks draws the children of a node, with an empty line between them.
func (d document) blocks(r *Renderer, n ast.Node, depth int) []line {
	var out []line
	list, tight := n.(*ast.List)
	tight = tight && list.IsTight
	_, item := n.(*ast.ListItem)
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		lines := d.block(r, c, depth)
		if len(lines) == 0 {
			continue
		}
		_, sub := c.(*ast.List)
		if len(out) > 0 && !tight && !(item && sub) {
			out = append(out, nil)
		}
		out = append(out, lines...)
	}
	return out
}

func (d document) block(r *Renderer, n ast.Node, depth int) []line {
	inner := r
	if depth < maxNesting {
		inner = r.narrower(2)
	}
	indent := func(lines []line, first, rest span) []line {
		if depth >= maxNesting {
			return lines
		}
		return prefixed(lines, first, rest)
	}
	switch n := n.(type) {
	case *ast.Heading:
		mark := ""
		if n.Level > 1 {
			mark = strings.Repeat("#", n.Level) + " "
		}
		style := Bold
		if n.Level == 1 {
			style |= Underline
		}
		return wrap(append([]span{{mark, Dim}}, d.inline(n, style, 0)...), r.width)
	case *ast.Paragraph, *ast.TextBlock:
		return wrap(d.inline(n, Plain, 0), r.width)
	case *ast.List:
		if n.Start == 0 {
			n.Start = 1
		}
		return d.blocks(r, n, depth)
	case *ast.ListItem:
		mark := "• "
		if list, ok := n.Parent().(*ast.List); ok && list.IsOrdered() {
			at := list.Start
			for p := n.PreviousSibling(); p != nil; p = p.PreviousSibling() {
				at++
			}
			mark = strconv.Itoa(at) + ". "
		}
		if depth < maxNesting {
			inner = r.narrower(Width(mark))
		}
		lines := d.blocks(inner, n, depth+1)
		if len(lines) == 0 {
			lines = []line{nil}
		}
		return indent(lines, span{mark, Dim}, span{strings.Repeat(" ", Width(mark)), Plain})
	case *ast.Blockquote:
		return indent(d.blocks(inner, n, depth+1), span{"▏ ", Dim}, span{"▏ ", Dim})
	case *ast.FencedCodeBlock:
		return r.source(string(n.Lines().Value(d.source)), maxCodeLines)
	case *ast.CodeBlock:
		return r.source(string(n.Lines().Value(d.source)), maxCodeLines)
	case *ast.HTMLBlock:
		raw := string(n.Lines().Value(d.source))
		if n.HasClosure() {
			raw += string(n.ClosureLine.Value(d.source))
		}
		return r.prose(raw)
	case *ast.ThematicBreak:
		return []line{{{strings.Repeat("─", r.width), Dim}}}
	case *east.Table:
		return d.table(r, n)
	}
	if n.Type() == ast.TypeBlock {
		return d.blocks(r, n, depth+1)
	}
	return wrap(d.inline(n, Plain, 0), r.width)
}

// inline draws what is within a paragraph.
func (d document) inline(n ast.Node, style Style, depth int) []span {
	var out []span
	if depth > 64 {
		return out
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			value := c.Value(d.source)
			if !c.IsRaw() {
				value = resolved(value)
			}
			s := Clean(string(value))
			switch {
			case c.HardLineBreak():
				s += "\n"
			case c.SoftLineBreak():
				s += " "
			}
			out = append(out, span{s, style})
		case *ast.String:
			out = append(out, span{Clean(string(c.Value)), style})
		case *ast.CodeSpan:
			var code strings.Builder
			for t := c.FirstChild(); t != nil; t = t.NextSibling() {
				if t, ok := t.(*ast.Text); ok {
					code.Write(t.Value(d.source))
				}
			}
			out = append(out, span{oneLine(code.String()), style | Accent})
		case *ast.Emphasis:
			inner := style | Italic
			if c.Level > 1 {
				inner = style | Bold
			}
			out = append(out, d.inline(c, inner, depth+1)...)
		case *ast.Link:
			out = append(out, d.linked(d.inline(c, style|Underline, depth+1), string(c.Destination), style)...)
		case *ast.Image:
			alt := append([]span{{"[", style | Dim}}, d.inline(c, style, depth+1)...)
			out = append(out, d.linked(append(alt, span{"]", style | Dim}), string(c.Destination), style)...)
		case *ast.AutoLink:
			out = append(out, span{oneLine(string(c.URL(d.source))), style | Underline})
		case *ast.RawHTML:
			out = append(out, span{Clean(string(c.Segments.Value(d.source))), style})
		case *east.TaskCheckBox:
			mark := "[ ] "
			if c.IsChecked {
				mark = "[x] "
			}
			out = append(out, span{mark, style})
		default:
			out = append(out, d.inline(c, style, depth+1)...)
		}
	}
	return out
}

// linked is a text and where it leads, which is always shown: a terminal has
// no other way to tell.
func (d document) linked(text []span, to string, style Style) []span {
	to = oneLine(to)
	shown := ""
	for _, s := range text {
		shown += s.text
	}
	if to == "" || shown == to {
		return text
	}
	return append(text, span{" (" + to + ")", style | Dim})
}

// resolved reads the escapes and entities of a text.
func resolved(b []byte) []byte {
	return []byte(html.UnescapeString(unescape(string(b))))
}

// unescape takes the backslashes away that stand before punctuation.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (d document) table(r *Renderer, n *east.Table) []line {
	var g grid
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			var s strings.Builder
			for _, sp := range d.inline(c, Plain, 0) {
				s.WriteString(sp.text)
			}
			cells = append(cells, oneLine(s.String()))
		}
		if _, head := row.(*east.TableHeader); head {
			for i, c := range cells {
				end := i < len(n.Alignments) && n.Alignments[i] == east.AlignRight
				g.columns = append(g.columns, gridColumn{head: c, end: end})
			}
			continue
		}
		g.rows = append(g.rows, cells)
	}
	g.total = len(g.rows)
	return g.draw(r)
}
