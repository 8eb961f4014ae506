package aisdk_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// members are the chunk types that the client's major 5 knows, with the
// members each must (+) or may have. The other majors know them too.
var members = map[string]string{
	"start":           "messageId messageMetadata",
	"start-step":      "",
	"finish-step":     "",
	"text-start":      "+id",
	"text-delta":      "+id +delta",
	"text-end":        "+id",
	"reasoning-start": "+id",
	"reasoning-delta": "+id +delta",
	"reasoning-end":   "+id",
	"data-":           "+data id transient",
	"source-url":      "+sourceId +url title",
	"file":            "+url +mediaType",

	"tool-input-available":  "+toolCallId +toolName +input providerExecuted",
	"tool-output-available": "+toolCallId +output providerExecuted",
	"tool-output-error":     "+toolCallId +errorText providerExecuted",
	"message-metadata":      "+messageMetadata",
	"finish":                "finishReason messageMetadata",
	"abort":                 "",
	"error":                 "+errorText",
}

// later are the chunk types and members of later majors, by the first of them.
var later = map[string]map[string]string{
	"6": {
		"tool-input-available":  "+toolCallId +toolName +input providerExecuted title toolMetadata",
		"tool-approval-request": "+approvalId +toolCallId",
		"tool-output-denied":    "+toolCallId",
		"abort":                 "reason",
	},
	"7": {"tool-approval-response": "+approvalId +approved reason"},
}

// vocabulary returns the members of a chunk type for a reader; his major stands
// behind the v of his name, and those without one are of major 5.
func vocabulary(reader, typ string) (list string, ok bool) {
	major := "5"
	if v, is := strings.CutPrefix(reader, "v"); is {
		major = v[:1]
	}
	list, ok = members[typ]
	for _, since := range []string{"6", "7"} {
		if l, is := later[since][typ]; is && since <= major {
			list, ok = l, true
		}
	}
	return list, ok
}

var finishReasons = []string{"stop", "length", "content-filter", "tool-calls", "error", "other"}

// check holds a stream against what every client demands, and returns its
// chunks: framing, growing ids, a closed vocabulary without nulls, parts that
// begin before they grow and end, one terminal chunk and [DONE].
func check(t testing.TB, reader, stream string) []map[string]any {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf(format+" in\n"+strings.ReplaceAll(stream, "%", "%%"), args...)
	}
	body, ok := strings.CutSuffix(stream, "\n\n")
	if !ok || strings.Contains(stream, "\r") {
		fail("framing")
	}
	var chunks []map[string]any
	open := make(map[string]bool)
	types := make(map[string]string)
	calls, approvals := make(map[string]string), make(map[string]string)
	var last uint64
	done := false
	for frame := range strings.SplitSeq(body, "\n\n") {
		if done {
			fail("a frame after [DONE]: %q", frame)
		}
		data := ""
		for line := range strings.SplitSeq(frame, "\n") {
			if id, ok := strings.CutPrefix(line, "id: "); ok {
				n, err := strconv.ParseUint(id, 10, 64)
				if err != nil || n <= last {
					fail("id %q after %d", id, last)
				}
				last = n
				continue
			}
			d, ok := strings.CutPrefix(line, "data: ")
			if !ok || data != "" || d == "" {
				fail("line %q", line)
			}
			data = d
		}
		if data == "[DONE]" {
			done = true
			continue
		}
		if data == "" {
			continue
		}
		var c map[string]any
		dec := json.NewDecoder(bytes.NewReader([]byte(data)))
		if err := dec.Decode(&c); err != nil || dec.More() {
			fail("chunk %q: %v", data, err)
		}
		typ, _ := c["type"].(string)
		known := typ
		if strings.HasPrefix(typ, "data-") && len(typ) > len("data-") {
			known = "data-"
		}
		list, ok := vocabulary(reader, known)
		if !ok {
			fail("unknown type %q", typ)
		}
		for name, value := range c {
			if value == nil {
				fail("%s of %s is null", name, typ)
			}
			if name != "type" && !slices.Contains(strings.Fields(strings.ReplaceAll(list, "+", "")), name) {
				fail("unknown member %s of %s", name, typ)
			}
		}
		for name := range strings.FieldsSeq(list) {
			if name, must := strings.CutPrefix(name, "+"); must && c[name] == nil {
				fail("%s without %s", typ, name)
			}
		}
		if n := len(chunks); n == 0 && typ != "start" || n == 1 && typ != "start-step" || n > 1 && typ == "start" {
			fail("chunk %d is %s", n, typ)
		}
		if typ == "start-step" && len(chunks) > 1 && chunks[len(chunks)-1]["type"] != "finish-step" {
			fail("a step in a step")
		}
		if call, is := c["toolCallId"].(string); is {
			// What a call was before, and what it may become.
			from := map[string]string{
				"tool-input-available": "", "tool-approval-request": "tool-input-available",
				"tool-output-denied":    "tool-approval-request tool-approval-response",
				"tool-output-available": "tool-input-available tool-approval-request tool-approval-response",
				"tool-output-error":     "tool-input-available tool-approval-request tool-approval-response",
			}
			if was := calls[call]; was == "" && from[typ] != "" || was != "" && !slices.Contains(strings.Fields(from[typ]), was) {
				fail("%s of %q, which was %q", typ, call, was)
			}
			calls[call] = typ
			if id, is := c["approvalId"].(string); is {
				approvals[id] = call
			}
		}
		if typ == "tool-approval-response" {
			id, _ := c["approvalId"].(string)
			if calls[approvals[id]] != "tool-approval-request" {
				fail("an answer to %q", id)
			}
			calls[approvals[id]] = typ
		}
		if len(chunks) > 0 {
			if before := chunks[len(chunks)-1]["type"]; before == "finish" || before == "error" {
				fail("%s after %s", typ, before)
			}
		}
		id, _ := c["id"].(string)
		kind, what, _ := strings.Cut(typ, "-")
		if kind == "text" || kind == "reasoning" {
			key := kind + " " + id
			if id == "" || open[key] != (what != "start") {
				fail("%s of %q", typ, id)
			}
			open[key] = what != "end"
			if delta, ok := c["delta"]; ok && delta == "" {
				fail("an empty %s", typ)
			}
		}
		if known == "data-" && c["transient"] == nil {
			if id == "" || types[id] != "" && types[id] != typ {
				fail("%s %q was %s", typ, id, types[id])
			}
			types[id] = typ
		}
		switch typ {
		case "finish", "error", "abort":
			for key, is := range open {
				if is {
					fail("%s is open at %s", key, typ)
				}
			}
		}
		if typ == "finish" {
			reason, _ := c["finishReason"].(string)
			if !slices.Contains(finishReasons, reason) && (!strings.HasPrefix(reader, "v7") || reason != "interrupted") {
				fail("finishReason %q", reason)
			}
		}
		if typ == "error" && c["errorText"] == "" {
			fail("an error without words")
		}
		chunks = append(chunks, c)
	}
	if !done || len(chunks) == 0 {
		fail("no [DONE]")
	}
	if typ := chunks[len(chunks)-1]["type"]; typ != "finish" && typ != "error" {
		fail("the stream ends with %s", typ)
	}
	return chunks
}
