package event

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// logOf numbers events written in shorthand as one message's log.
func logOf(events ...Event) []Event {
	out := make([]Event, len(events))
	for i, e := range events {
		if e.Seq == 0 {
			e.Seq = uint64(i + 1)
		}
		if e.Group == 0 {
			e.Group = 1
		}
		if e.Msg == "" {
			e.Msg = "m_1"
		}
		if e.Data == nil {
			e.Data = EmptyData
		}
		out[i] = e
	}
	return out
}

func chartData() json.RawMessage { return json.RawMessage(`{"type":"chart","version":1}`) }

func TestGuard(t *testing.T) {
	start := Event{Type: Start}
	text := Event{Type: TextDelta, Block: "t"}
	done := Event{Type: Done}
	open := Event{Type: BlockStart, Block: "b", Data: chartData()}
	end := Event{Type: BlockEnd, Block: "b", Data: chartData()}
	in := func(g int, e Event) Event { e.Group = g; return e }
	tests := []struct {
		name   string
		events []Event
		want   Rule // of the last event; "" accepts
	}{
		{"whole turn", logOf(start, text, Event{Type: TextEnd, Block: "t"}, open, end, done), ""},
		{"late block", logOf(start, open, text, Event{Type: TextEnd, Block: "t"}, end, done), ""},
		{"complete at once", logOf(start, end, done), ""},
		{"retry", logOf(start, open, Event{Type: BlockError, Block: "b"}, done, in(2, open), in(2, end), in(2, done)), ""},
		{"refresh at once", logOf(start, end, done, in(2, end), in(2, done)), ""},
		{"state after done", logOf(start, end, done, in(2, Event{Type: BlockState, Block: "b", Data: json.RawMessage(`{"state":{},"rev":2}`)})), ""},
		{"failed block again in the same turn", logOf(start, open, Event{Type: BlockError, Block: "b"}, open), ""},
		{"gap", logOf(start, Event{Seq: 3, Type: Done}), RuleSeq},
		{"duplicate", logOf(start, Event{Seq: 1, Type: Done}), RuleSeq},
		{"time backwards", logOf(Event{Type: Start, At: 5}, Event{Type: Done, At: 4}), RuleTime},
		{"negative time", logOf(Event{Type: Start, At: -1}), RuleTime},
		{"other message", logOf(start, Event{Type: Done, Msg: "m_2"}), RuleMessage},
		{"no start", logOf(text), RuleFirst},
		{"two starts", logOf(start, start), RuleStart},
		{"start in a follow-up", logOf(start, done, in(2, start)), RuleStart},
		{"first group is 2", logOf(in(2, start)), RuleGroup},
		{"event after terminal", logOf(start, done, text), RuleTerminal},
		{"two terminals", logOf(start, done, Event{Type: Error}), RuleTerminal},
		{"group left open", logOf(start, in(2, text)), RuleGroup},
		{"group skipped", logOf(start, done, in(3, text)), RuleGroup},
		{"group goes back", logOf(start, done, in(2, done), in(1, text)), RuleGroup},
		{"unknown type", logOf(start, Event{Type: "made_up"}), RuleType},
		{"snapshot", logOf(start, Event{Type: Snapshot}), RuleType},
		{"too large", logOf(start, Event{Type: TextDelta, Block: "t", Data: TextData(strings.Repeat("x", MaxSize))}), RuleSize},
		{"data is no object", logOf(start, Event{Type: TextDelta, Block: "t", Data: json.RawMessage(`"x"`)}), RuleData},
		{"data is broken", logOf(start, Event{Type: TextDelta, Block: "t", Data: json.RawMessage(`{"delta":`)}), RuleData},
		{"block without type", logOf(start, Event{Type: BlockStart, Block: "b"}), RuleData},
		{"text without block", logOf(start, Event{Type: TextDelta}), RuleBlockID},
		{"done with block", logOf(start, Event{Type: Done, Block: "b"}), RuleBlockID},
		{"text into a chart", logOf(start, open, Event{Type: TextDelta, Block: "b"}), RuleText},
		{"text after text_end", logOf(start, text, Event{Type: TextEnd, Block: "t"}, text), RuleText},
		{"text_end of nothing", logOf(start, Event{Type: TextEnd, Block: "t"}), RuleText},
		{"two open texts", logOf(start, text, Event{Type: TextDelta, Block: "u"}), RuleOneText},
		{"delta of nothing", logOf(start, Event{Type: BlockDelta, Block: "b"}), RuleNotOpen},
		{"delta after end", logOf(start, open, end, Event{Type: BlockDelta, Block: "b"}), RuleNotOpen},
		{"delta of text", logOf(start, text, Event{Type: BlockDelta, Block: "t"}), RuleBlockType},
		{"error of nothing", logOf(start, Event{Type: BlockError, Block: "b"}), RuleNotOpen},
		{"state of nothing", logOf(start, Event{Type: BlockState, Block: "b", Data: json.RawMessage(`{"rev":2}`)}), RuleNotOpen},
		{"rev does not grow", logOf(start, end, Event{Type: BlockState, Block: "b", Data: json.RawMessage(`{"rev":1}`)}), RuleRev},
		{"started twice", logOf(start, open, open), RuleReopened},
		{"started after end", logOf(start, open, end, open), RuleReopened},
		{"ended twice", logOf(start, open, end, end), RuleEndedTwice},
		{"type change", logOf(start, open, Event{Type: BlockEnd, Block: "b", Data: json.RawMessage(`{"type":"table"}`)}), RuleBlockType},
		{"type change on retry", logOf(start, end, done, in(2, Event{Type: BlockStart, Block: "b", Data: json.RawMessage(`{"type":"table"}`)})), RuleBlockType},
		{"open chart at the end", logOf(start, open, done), RuleOpenAtEnd},
		{"open text at the end", logOf(start, text, Event{Type: Error}), RuleOpenAtEnd},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewGuard("m_1")
			f := NewFolder("m_1")
			last := len(tt.events) - 1
			for i, e := range tt.events {
				// A guard made anew from the folded log judges the same.
				resumed := ResumeGuard("m_1", f.State())
				err := g.Check(e)
				var ge *GuardError
				errors.As(err, &ge)
				if i < last || tt.want == "" {
					if err != nil {
						t.Fatalf("event %d: %v", i+1, err)
					}
				} else if ge == nil || ge.Rule != tt.want {
					t.Fatalf("event %d: %v, want rule %s", i+1, err, tt.want)
				} else if !errors.Is(err, &GuardError{Rule: tt.want}) || ge.Error() == "" {
					t.Errorf("errors.Is does not know the rule of %v", err)
				}
				if i > 0 {
					if rerr := resumed.Check(e); (rerr == nil) != (err == nil) {
						t.Errorf("event %d: resumed guard says %v, guard says %v", i+1, rerr, err)
					}
				}
				if err == nil {
					f.Apply(e)
					if g.Seq() != e.Seq || g.Open() == e.Type.Terminal() {
						t.Errorf("after event %d: seq %d, open %v", i+1, g.Seq(), g.Open())
					}
				}
			}
		})
	}
}

func TestGuardRefusalChangesNothing(t *testing.T) {
	g := NewGuard("m_1")
	log := logOf(Event{Type: Start}, Event{Type: BlockEnd, Block: "b", Data: chartData()}, Event{Type: Done})
	for _, e := range log {
		bad := e
		bad.Seq++
		if g.Check(bad) == nil {
			t.Fatalf("a gap before event %d was accepted", e.Seq)
		}
		if err := g.Check(e); err != nil {
			t.Fatal(err)
		}
	}
	if (&GuardError{Rule: RuleSeq}).Is(errors.New("x")) {
		t.Error("a GuardError is not just any error")
	}
}
