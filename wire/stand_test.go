package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/wire"
)

func TestFailed(t *testing.T) {
	if wire.Failed(nil) != nil {
		t.Error("a failure out of nothing")
	}
	own := &block.Error{Code: "TOOL_TIMEOUT", Message: "Account 4711 did not answer.", Retryable: true}
	if got := wire.Failed(own); got.Code != own.Code || !got.Retryable || got.Message == "" || got.Message == own.Message || own.Message != "Account 4711 did not answer." {
		t.Errorf("got %+v of %+v", got, own)
	}
}

func TestQuestion(t *testing.T) {
	got, err := wire.Question(json.RawMessage(`{"questionId":"b_1","prompt":"Pay?","options":[{"id":"yes","label":"Yes"}],"schema":{"title":"Amount"},"expiresAt":1736000000000,"status":"answered","note":"more"}`))
	if want := `{"questionId":"b_1","expiresAt":1736000000000,"status":"answered"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if got, err := wire.Question(json.RawMessage(`7`)); err == nil {
		t.Errorf("got %s of a number", got)
	}
}
