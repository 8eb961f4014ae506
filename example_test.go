package inlay_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/inlay-ui/inlay"
	"github.com/inlay-ui/inlay/model/scripted"
	"github.com/inlay-ui/inlay/store/memory"
)

// A program with one tool of its own, which keeps its own HTTP server. The
// demo model knows this tool's name, so the example runs without a real one.
func Example() {
	if err := answer(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// start
	// text: Looking up the sales by region.
	// chart: 2026Q3 sales by region (10k CNY): East 320, South 210
	// tool show_sales_chart: ok
	// done: stop
}

func answer() error {
	type args struct {
		Quarter string `json:"quarter" jsonschema:"Such as 2026Q3" pattern:"^[0-9]{4}Q[1-4]$"`
	}
	showSales := inlay.NewTool("show_sales_chart", "Show the sales of every region in one quarter.",
		func(ctx context.Context, a args, out *inlay.Out) error {
			return out.Chart(inlay.Chart{
				Type: "bar", Title: a.Quarter + " sales by region", Unit: "10k CNY",
				X:      &inlay.ChartX{Field: "region"},
				Series: []inlay.ChartSeries{{Field: "amount", Name: "Sales"}},
				Data:   []map[string]any{{"region": "East", "amount": 320}, {"region": "South", "amount": 210}},
			})
		})

	llm, err := scripted.New(scripted.Options{}) // a real program names a model in Config.Model
	if err != nil {
		return err
	}
	app, err := inlay.New(inlay.Config{LLM: llm, Backend: memory.New(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if err := app.AddTools(showSales); err != nil {
		return err
	}
	handler, err := app.Handler(context.Background())
	if err != nil {
		return err
	}
	defer app.Close()
	srv := httptest.NewServer(handler) // or any mux of the program's own
	defer srv.Close()

	resp, err := http.Post(srv.URL+"/v1/chat", "application/json", strings.NewReader(`{"input":{"text":"Show 2026Q3 sales by region"}}`))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return show(bufio.NewScanner(resp.Body))
}

// show writes the events of a stream that matter to a reader of this example.
func show(lines *bufio.Scanner) error {
	lines.Buffer(nil, 1<<20)
	name, text := "", ""
	for lines.Scan() {
		if n, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = n
		}
		raw, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var event struct {
			Data struct{ Delta, Name, Status, Type, Fallback, FinishReason string }
		}
		if err := json.Unmarshal([]byte(raw), &event); err != nil {
			return err
		}
		d := event.Data
		switch name {
		case "start":
			fmt.Println("start")
		case "text_delta":
			text += d.Delta
		case "text_end":
			if strings.HasPrefix(text, "Looking") {
				fmt.Println("text:", strings.TrimSpace(text))
			}
			text = ""
		case "tool_call_end":
			fmt.Printf("tool %s: %s\n", d.Name, d.Status)
		case "block_end":
			fmt.Printf("%s: %s\n", d.Type, d.Fallback)
		case "done":
			fmt.Println("done:", d.FinishReason)
		}
	}
	return lines.Err()
}

// A configuration file is loaded and laid under the program's own settings.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "inlay")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "sales.yaml")
	if err := os.WriteFile(file, []byte("agent:\n  system: You help the sales team.\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	cfg, err := inlay.Load(file, []string{"INLAY_AGENT_MAX_STEPS=4"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.Agent.System, cfg.Agent.MaxSteps)

	_, err = inlay.Load("", []string{"INLAY_AGENT_MAX_STEP=4"})
	fmt.Println(err)
	// Output:
	// You help the sales team. 4
	// environment variable INLAY_AGENT_MAX_STEP sets nothing; did you mean INLAY_AGENT_MAX_STEPS?
}
