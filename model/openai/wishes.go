package openai

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/inlay-ui/inlay/model"
)

// wish is a member of a request that an answer can do without.
type wish struct {
	// words name it in a refusal.
	words []string
	sent  func(model.Request) bool
	drop  func(*model.Request)
}

// wishList holds what models refuse though their vendor's endpoint knows it:
// one vendor has models with and without a fixed temperature, and those that
// think take no forced calls. No table of model names keeps up with that.
var wishList = []wish{
	{
		words: []string{"temperature"},
		sent:  func(r model.Request) bool { return r.Temperature != nil },
		drop:  func(r *model.Request) { r.Temperature = nil },
	},
	{
		words: []string{"tool_choice", "tool choice"},
		sent:  func(r model.Request) bool { return r.ToolChoice == model.ToolRequired || forced(r.ToolChoice) },
		drop:  func(r *model.Request) { r.ToolChoice = model.ToolAuto },
	},
}

// refusedWishes remembers by model which of wishList it refused.
type refusedWishes struct {
	mu     sync.Mutex
	models map[string]map[int]bool
}

// leaveOut takes out of a request what the model is known to refuse.
func (w *refusedWishes) leaveOut(name string, req model.Request) model.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.models[name] {
		wishList[i].drop(&req)
	}
	return req
}

// learn reports whether an error refuses a wish of the request, and then
// remembers it.
func (w *refusedWishes) learn(name string, req model.Request, err error) bool {
	var e *model.Error
	if !errors.As(err, &e) || e.Code != model.CodeBadRequest || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	message := strings.ToLower(e.Message)
	for i, wish := range wishList {
		if !wish.sent(req) || !slices.ContainsFunc(wish.words, func(w string) bool { return strings.Contains(message, w) }) {
			continue
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.models == nil {
			w.models = map[string]map[int]bool{}
		}
		if w.models[name] == nil {
			w.models[name] = map[int]bool{}
		}
		w.models[name][i] = true
		return true
	}
	return false
}
