package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/store"
)

// exportWords are the few words of an exported conversation.
type exportWords struct{ lang, you, assistant, untitled string }

func wordsOf(lang string) exportWords {
	if lang == "zh" {
		return exportWords{"zh-CN", "我", "助手", "未命名会话"}
	}
	return exportWords{"en", "You", "Assistant", "Untitled conversation"}
}

func (e exportWords) speaker(m store.Message) string {
	if m.Role == store.RoleUser {
		return e.you
	}
	return e.assistant
}

// getExport writes a conversation as one file. Blocks are written as their
// Markdown or their fallback text, so that every reader shows them.
func (s *server) getExport(w http.ResponseWriter, r *http.Request) error {
	format := r.URL.Query().Get("format")
	if format == "" {
		format = "md"
	}
	make, ok := map[string]struct {
		kind  string
		write func(*server, *http.Request, store.Conversation, []store.Message) ([]byte, error)
	}{
		"md":   {"text/markdown; charset=utf-8", (*server).exportMarkdown},
		"txt":  {"text/plain; charset=utf-8", (*server).exportText},
		"json": {"application/json; charset=utf-8", (*server).exportJSON},
		"html": {"text/html; charset=utf-8", (*server).exportHTML},
	}[format]
	if !ok {
		return invalid("format must be md, txt, json or html.", map[string]any{"field": "format", "known": []string{"md", "txt", "json", "html"}})
	}
	c, err := s.Store.Conversation(r.Context(), callOf(r).owner, r.PathValue("id"))
	if err != nil {
		return wrap("read conversation", err)
	}
	list, err := s.path(r)
	if err != nil {
		return err
	}
	for i, m := range list {
		if list[i], err = s.current(r, m); err != nil {
			return wrap("read log", err)
		}
	}
	b, err := make.write(s, r, c, list)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", make.kind)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	h.Set("Content-Disposition", attachment(c.Title, wordsOf(callOf(r).lang).untitled, format))
	h.Set("Cache-Control", "no-store")
	// Opened in the browser it must not act as this site.
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'")
	w.WriteHeader(http.StatusOK)
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("write export: %w", err)
	}
	return nil
}

func (s *server) exportMarkdown(r *http.Request, c store.Conversation, list []store.Message) ([]byte, error) {
	words := wordsOf(callOf(r).lang)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", titleOr(c, words))
	for _, m := range list {
		fmt.Fprintf(&b, "\n## %s\n", words.speaker(m))
		for _, text := range s.texts(m, s.Registry.Markdown) {
			fmt.Fprintf(&b, "\n%s\n", text)
		}
	}
	return []byte(b.String()), nil
}

func (s *server) exportText(r *http.Request, c store.Conversation, list []store.Message) ([]byte, error) {
	words := wordsOf(callOf(r).lang)
	var b strings.Builder
	b.WriteString(titleOr(c, words) + "\n")
	for _, m := range list {
		fmt.Fprintf(&b, "\n%s:\n", words.speaker(m))
		for _, text := range s.texts(m, s.Registry.Text) {
			b.WriteString(text + "\n")
		}
	}
	return []byte(b.String()), nil
}

func (s *server) exportJSON(r *http.Request, c store.Conversation, list []store.Message) ([]byte, error) {
	body := struct {
		Conversation conversationBody `json:"conversation"`
		Messages     []messageBody    `json:"messages"`
	}{conversation(c), []messageBody{}}
	for _, m := range list {
		mb, err := s.message(r, m)
		if err != nil {
			return nil, err
		}
		for i := range mb.Blocks {
			mb.Blocks[i].Meta = exported(mb.Blocks[i].Meta)
		}
		body.Messages = append(body.Messages, mb)
	}
	b, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// keyReason is a vendor's note for developers on why a block was shown. It is
// for nobody's eyes else, and so in no file that people hand on.
const keyReason = "minara/reason"

// exported returns a block's meta as files have it.
func exported(m *block.Meta) *block.Meta {
	if m == nil || m.Vendor[keyReason] == nil {
		return m
	}
	c := *m
	c.Vendor = maps.Clone(m.Vendor)
	delete(c.Vendor, keyReason)
	return &c
}

// texts writes the blocks of a message, and its error if it failed.
func (s *server) texts(m store.Message, write func(block.Block) string) []string {
	var out []string
	for _, b := range m.Blocks {
		if text := strings.TrimSpace(write(b)); text != "" {
			out = append(out, text)
		}
	}
	if m.Err != nil {
		out = append(out, "["+m.Err.Message+"]")
	}
	return out
}

// markdown turns Markdown into HTML. Raw HTML in it is left out, and links
// that could run something lose their address.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM))

// exportPage is a file that stands alone. Its own policy keeps it from loading
// anything, wherever it is opened.
var exportPage = template.Must(template.New("export").Parse(`<!doctype html>
<html lang="{{.Lang}}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<style>
:root { color-scheme: light dark; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.6 system-ui, "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif; }
h2 { margin: 2rem 0 .5rem; font-size: 1rem; opacity: .65; }
.user { white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid #8886; padding: .3rem .6rem; text-align: left; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid #8886; border-radius: .4rem; }
blockquote { margin-left: 0; padding-left: 1rem; border-left: 3px solid #8886; }
img { max-width: 100%; }
</style>
</head>
<body>
<h1>{{.Title}}</h1>
{{range .Messages}}<section>
<h2>{{.Speaker}}</h2>
{{range .Plain}}<p class="user">{{.}}</p>
{{end}}{{range .Rich}}{{.}}{{end}}</section>
{{end}}</body>
</html>
`))

type exportMessage struct {
	Speaker string
	// Plain is shown as it is, Rich is HTML made here.
	Plain []string
	Rich  []template.HTML
}

func (s *server) exportHTML(r *http.Request, c store.Conversation, list []store.Message) ([]byte, error) {
	words := wordsOf(callOf(r).lang)
	data := struct {
		Lang, Title string
		Messages    []exportMessage
	}{Lang: words.lang, Title: titleOr(c, words)}
	for _, m := range list {
		em := exportMessage{Speaker: words.speaker(m)}
		if m.Role == store.RoleUser {
			em.Plain = s.texts(m, s.Registry.Text)
		} else {
			for _, text := range s.texts(m, s.Registry.Markdown) {
				var b bytes.Buffer
				if err := markdown.Convert([]byte(text), &b); err != nil {
					return nil, err
				}
				em.Rich = append(em.Rich, template.HTML(b.String())) // goldmark escapes and drops raw HTML
			}
		}
		data.Messages = append(data.Messages, em)
	}
	var b bytes.Buffer
	if err := exportPage.Execute(&b, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func titleOr(c store.Conversation, words exportWords) string {
	if c.Title == "" {
		return words.untitled
	}
	return c.Title
}

// attachment names the file of a download (RFC 6266): a plain name for old
// clients and the whole one in UTF-8.
func attachment(title, untitled, ext string) string {
	name := fileName(title)
	if name == "" {
		name = untitled
	}
	ascii := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return -1
		}
		return r
	}, name)
	ascii = strings.TrimSpace(ascii)
	if ascii == "" {
		ascii = "conversation"
	}
	return `attachment; filename="` + ascii + "." + ext + `"; filename*=UTF-8''` + encode8187(name+"."+ext)
}

// fileName makes a name that every system takes of a title.
func fileName(title string) string {
	var b strings.Builder
	for _, r := range title {
		switch {
		case strings.ContainsRune(`/\:*?"<>|%;`, r), unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			r = ' '
		case r == utf8.RuneError:
			continue
		}
		b.WriteRune(r)
	}
	name := strings.Join(strings.Fields(b.String()), " ")
	name = strings.Trim(name, ". ")
	if runes := []rune(name); len(runes) > 80 {
		name = strings.TrimSpace(string(runes[:80]))
	}
	return name
}

// encode8187 writes a value as RFC 8187 wants it.
func encode8187(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!#$&+-.^_`|~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}
