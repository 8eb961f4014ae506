package terminal

import (
	"cmp"
	"math"
	"strings"

	"github.com/inlay-ui/inlay/block"
)

// The tokens of a tree as styles of a terminal. A token that is not known is
// the default one, as on the page.
var (
	treeText = map[string]Style{
		"title": Bold | Underline, "subtitle": Bold, "caption": Dim, "label": Dim, "price": Bold | Warning, "code": Accent, "quote": Italic,
	}
	treeColor = map[string]Style{
		"muted": Dim, "primary": Accent, "success": Success, "warning": Warning, "danger": Danger,
	}
)

// token is the name of a token without its family.
func token(family string, v any) string {
	s, _ := v.(string)
	return strings.TrimPrefix(s, family+".")
}

func drawTree(r *Renderer, b block.Block) ([]line, bool) {
	var t block.Tree
	if deep(b.Payload) || !decode(b.Payload, &t) {
		return nil, false
	}
	d := treeDrawer{actions: b.Actions}
	lines := r.heading(t.Title, "")
	body := d.node(r, t.Root, 1)
	if len(body) == 0 {
		body = []line{r.note("empty")}
	}
	return append(lines, body...), true
}

// deep reports whether JSON is nested deeper than a tree may be.
func deep(raw []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > 4*block.MaxTreeDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

type treeDrawer struct{ actions []block.Action }

// text is what a node says, by whichever of the usual names.
func (r *Renderer) treeWords(n block.TreeNode, names ...string) string {
	if len(names) == 0 {
		names = []string{"value", "text", "label", "title", "content"}
	}
	for _, name := range names {
		switch v := n.Props[name].(type) {
		case nil, map[string]any, []any:
		default:
			if s := r.scalar(v); s != "" {
				return s
			}
		}
	}
	return ""
}

func (d treeDrawer) children(r *Renderer, n block.TreeNode, depth int) []line {
	if depth > block.MaxTreeDepth {
		return nil
	}
	gap := cmp.Or(token("spacing", n.Props["gap"]), token("spacing", n.Props["spacing"])) == "large"
	var out []line
	for _, c := range n.Children {
		lines := d.node(r, c, depth+1)
		if gap && len(out) > 0 && len(lines) > 0 {
			out = append(out, nil)
		}
		out = append(out, lines...)
	}
	return out
}

func (d treeDrawer) node(r *Renderer, n block.TreeNode, depth int) []line {
	switch n.Type {
	case "card":
		in := r.narrower(2)
		lines := in.heading(r.treeWords(n, "title"), "")
		lines = append(lines, d.children(in, n, depth)...)
		if n.Action != nil {
			lines = append(lines, d.button(in, n)...)
		}
		if len(lines) == 0 {
			return nil
		}
		return bar(lines, Dim)
	case "column", "grid":
		return d.children(r, n, depth)
	case "row":
		return d.row(r, n, depth)
	case "list":
		return d.list(r, n, depth)
	case "text", "heading":
		return d.words(r, n, depth)
	case "markdown":
		return r.markdown(r.treeRaw(n))
	case "image":
		return d.image(r, n)
	case "button":
		return d.button(r, n)
	case "link":
		href := r.treeWords(n, "href", "url")
		text := cmp.Or(r.treeWords(n), href)
		if href != "" && href != text {
			text += " (" + href + ")"
		}
		return wrap([]span{{text, Underline}}, r.width)
	case "input", "textarea", "select", "checkbox", "switch":
		return d.field(r, n)
	case "divider":
		return []line{{{strings.Repeat("─", r.width), Dim}}}
	case "spacer":
		return []line{nil}
	case "badge", "tag":
		tone := tones[token("color", n.Props["tone"])] | treeColor[token("color", n.Props["color"])]
		return wrap([]span{{"[" + r.treeWords(n) + "]", tone}}, r.width)
	case "progress":
		v, ok := block.Number(n.Props["value"])
		top, hasTop := block.Number(n.Props["max"])
		if !hasTop || top <= 0 {
			top = 1
		}
		if !ok || math.IsNaN(v) {
			return wrap([]span{{"… " + r.treeWords(n, "label"), Dim}}, r.width)
		}
		return r.progress(r.treeWords(n, "label"), block.FileProgress{Done: min(max(v, 0), top), Total: &top})
	}
	// A part that is not known here: what it says.
	var lines []line
	if s := r.treeWords(n); s != "" {
		lines = wrap([]span{{s, Plain}}, r.width)
	}
	lines = append(lines, d.children(r, n, depth)...)
	if n.Action != nil {
		lines = append(lines, d.button(r, n)...)
	}
	return lines
}

// treeRaw is what a node says with its lines.
func (r *Renderer) treeRaw(n block.TreeNode) string {
	for _, name := range []string{"value", "text", "label", "title", "content"} {
		if s, ok := n.Props[name].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

func (d treeDrawer) words(r *Renderer, n block.TreeNode, depth int) []line {
	name := token("text", n.Props["style"])
	if name == "" && n.Type == "heading" {
		name = "title"
	}
	style := treeText[name] | treeColor[token("color", n.Props["color"])]
	var lines []line
	if s := r.treeWords(n); s != "" {
		if name == "quote" {
			lines = prefixed(wrap([]span{{s, style}}, r.width-2), span{"▏ ", Dim}, span{"▏ ", Dim})
		} else {
			lines = wrap([]span{{s, style}}, r.width)
		}
	}
	return append(lines, d.children(r, n, depth)...)
}

// row puts its children beside each other where they are one line each and
// there is room, else below each other.
func (d treeDrawer) row(r *Renderer, n block.TreeNode, depth int) []line {
	if depth > block.MaxTreeDepth {
		return nil
	}
	var out line
	used, flat := 0, true
	var parts, all []line
	for _, c := range n.Children {
		lines := d.node(r, c, depth+1)
		if len(lines) == 0 {
			continue
		}
		all = append(all, lines...)
		parts = append(parts, lines[0])
		used += lines[0].width() + 2
		flat = flat && len(lines) == 1
	}
	if !flat || used-2 > r.width {
		return all
	}
	if len(parts) == 0 {
		return nil
	}
	between := token("justify", n.Props["justify"]) == "between"
	for i, p := range parts {
		if i > 0 {
			gap := 2
			if between && i == len(parts)-1 {
				gap = max(r.width-out.width()-p.width(), 2)
			}
			out = append(out, span{strings.Repeat(" ", gap), Plain})
		}
		out = append(out, p...)
	}
	return []line{out}
}

func (d treeDrawer) list(r *Renderer, n block.TreeNode, depth int) []line {
	if depth > block.MaxTreeDepth {
		return nil
	}
	var out []line
	at := 0
	for _, c := range n.Children {
		at++
		mark := "• "
		if n.Props["ordered"] == true {
			mark = block.FormatFloat(float64(at)) + ". "
		}
		lines := d.node(r.narrower(len([]rune(mark))), c, depth+1)
		out = append(out, prefixed(lines, span{mark, Dim}, span{strings.Repeat(" ", len([]rune(mark))), Plain})...)
	}
	return out
}

func (d treeDrawer) image(r *Renderer, n block.TreeNode) []line {
	lines := wrap([]span{{"[" + r.say("image") + "] ", Dim}, {cmp.Or(r.treeWords(n, "alt"), r.say("unnamed")), Plain}}, r.width)
	src := cmp.Or(r.treeWords(n, "src"), r.treeWords(n, "url"))
	if id := r.treeWords(n, "assetId"); id != "" {
		return append(lines, r.address(id)...)
	}
	if src == "" {
		return lines
	}
	if !strings.Contains(src, ":") {
		return append(lines, r.address(src)...)
	}
	for _, part := range hard(src, r.width) {
		lines = append(lines, plain(part, Underline))
	}
	return lines
}

// button draws what acts; it is dim when the block has no such action.
func (d treeDrawer) button(r *Renderer, n block.TreeNode) []line {
	label, style := r.treeWords(n), Dim
	if n.Type == "card" {
		label = r.treeWords(n, "label")
	}
	if n.Action != nil {
		for _, a := range d.actions {
			if a.ID == n.Action.ID {
				style = Bold
				switch cmp.Or(r.treeWords(n, "variant"), token("style", n.Props["style"]), a.Style) {
				case "primary":
					style |= Accent
				case "danger":
					style |= Danger
				}
				label = cmp.Or(label, oneLine(a.Label))
			}
		}
		label = cmp.Or(label, oneLine(n.Action.ID))
	}
	if label == "" {
		return nil
	}
	return wrap([]span{{"[ " + label + " ]", style}}, r.width)
}

// treeField reads the input that a node is.
func (r *Renderer) treeField(n block.TreeNode) (Field, bool) {
	name := r.treeWords(n, "name", "id")
	f := Field{Label: cmp.Or(r.treeWords(n, "label", "text", "placeholder"), name), Help: r.treeWords(n, "placeholder")}
	if f.Help == f.Label {
		f.Help = ""
	}
	if name != "" {
		f.Path = []string{name}
	}
	f.Default = n.Props["value"]
	if f.Default == nil {
		f.Default = n.Props["defaultValue"]
	}
	list, _ := n.Props["options"].([]any)
	for _, o := range list {
		if m, ok := o.(map[string]any); ok {
			v := m["value"]
			if v == nil {
				v = m["id"]
			}
			if v == nil {
				continue
			}
			label, _ := m["label"].(string)
			f.Options = append(f.Options, Option{v, cmp.Or(oneLine(label), r.scalar(v))})
			continue
		}
		f.Options = append(f.Options, Option{o, r.scalar(o)})
	}
	switch {
	case n.Type == "checkbox" || n.Type == "switch":
		f.Kind = FieldBool
	case len(f.Options) > 0:
		f.Kind = FieldChoice
	case n.Props["type"] == "number" || n.Props["inputType"] == "number":
		f.Kind = FieldNumber
	}
	return f, name != "" && n.Props["disabled"] != true
}

func (d treeDrawer) field(r *Renderer, n block.TreeNode) []line {
	f, _ := r.treeField(n)
	value := ""
	if f.Default != nil {
		value = r.shown(f, f.Default)
	}
	switch {
	case f.Kind == FieldBool:
		mark := "[ ] "
		if f.Default == true {
			mark = "[x] "
		}
		return wrap([]span{{mark, Accent}, {f.Label, Plain}}, r.width)
	case value == "" && len(f.Options) > 0:
		names := make([]string, len(f.Options))
		for i, o := range f.Options {
			names[i] = o.Label
		}
		value = "( " + counted(r, names) + " )"
	case value == "":
		value = cmp.Or(f.Help, "____")
	}
	return wrap([]span{{f.Label + ": ", Dim}, {value, Plain}}, r.width)
}
