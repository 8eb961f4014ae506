package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
)

// askUser is the built-in tool by which the model asks the person a question.
// The question is a block, and the turn pauses until it is answered.
var askUser tool.Tool = asking{}

type asking struct{}

// askUserArgs are the arguments of ask_user.
type askUserArgs struct {
	Question string   `json:"question"`
	Options  []string `json:"options"`
	Multiple bool     `json:"multiple"`
	Other    bool     `json:"other"`
}

// Spec implements tool.Tool.
func (asking) Spec() tool.Spec {
	return tool.Spec{
		Name: "ask_user",
		Description: "Asks the user one question and waits for the answer. Use it when you cannot go on without a decision that is the user's; " +
			"give the likely answers as options. Do not use it to ask whether a tool may be called.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"question":{"type":"string","minLength":1,"maxLength":500},` +
			`"options":{"type":"array","items":{"type":"string","minLength":1,"maxLength":200},"minItems":2,"maxItems":10,"uniqueItems":true,"description":"the answers to choose from; leave out for a free answer"},` +
			`"multiple":{"type":"boolean","description":"whether several options may be chosen"},` +
			`"other":{"type":"boolean","description":"whether the user may also answer in own words"}},` +
			`"required":["question"],"additionalProperties":false}`),
		Ask: func(_ context.Context, raw json.RawMessage) (*tool.Ask, error) {
			var args askUserArgs
			if err := json.Unmarshal(raw, &args); err != nil {
				return nil, fmt.Errorf("decode arguments of ask_user: %w", err)
			}
			q := &tool.Question{Multiple: args.Multiple && len(args.Options) > 0, AllowText: args.Other && len(args.Options) > 0}
			for i, o := range args.Options {
				q.Options = append(q.Options, block.QuestionOption{ID: strconv.Itoa(i + 1), Label: o})
			}
			return &tool.Ask{Prompt: args.Question, Question: q}, nil
		},
		Unrepeatable: true,
	}
}

// Run implements tool.Tool: it tells the model what was answered.
func (asking) Run(ctx context.Context, raw json.RawMessage, out *tool.Out) error {
	var args askUserArgs
	var reply struct {
		Choices []string `json:"choices"`
		Text    string   `json:"text"`
	}
	a, ok := tool.AnswerFrom(ctx)
	if !ok {
		return &tool.Error{Message: "The user was not asked."}
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return fmt.Errorf("decode arguments of ask_user: %w", err)
	}
	if err := json.Unmarshal(a.Value, &reply); err != nil {
		return fmt.Errorf("decode answer of ask_user: %w", err)
	}
	var said []string
	for _, id := range reply.Choices {
		if i, err := strconv.Atoi(id); err == nil && i >= 1 && i <= len(args.Options) {
			said = append(said, args.Options[i-1])
		}
	}
	if reply.Text != "" {
		said = append(said, reply.Text)
	}
	out.Summary("%s", "The user answered: "+strings.Join(said, "; "))
	return nil
}
