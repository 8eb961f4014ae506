package agui_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/wire/agui"
)

// Streams are written in short: an event a line, its members after its type.
func TestGuardRefuses(t *testing.T) {
	const start = `RUN_STARTED "threadId":"t","runId":"r"`
	const finish = `RUN_FINISHED "threadId":"t","runId":"r"`
	for name, c := range map[string]struct {
		rule    agui.Rule // of the last event; "" when the stream is lawful
		version string
		stream  []string
	}{
		"nothing first":               {agui.RuleFirst, "", []string{`CUSTOM "name":"n","value":null`}},
		"an error first":              {"", "", []string{`RUN_ERROR "message":"m"`}},
		"two runs at once":            {agui.RuleRunOpen, "", []string{start, start}},
		"two runs in turn":            {"", "", []string{start, finish, start, `RUN_ERROR "message":"m"`, start, finish}},
		"after the end":               {agui.RuleRunOver, "", []string{start, finish, `CUSTOM "name":"n","value":1`}},
		"finished twice":              {agui.RuleRunOver, "", []string{start, finish, finish}},
		"failed after the end":        {"", "", []string{start, finish, `RUN_ERROR "message":"m"`}},
		"failed twice":                {agui.RuleRunOver, "", []string{start, `RUN_ERROR "message":"m"`, `RUN_ERROR "message":"m"`}},
		"finished after failing":      {agui.RuleRunOver, "", []string{start, `RUN_ERROR "message":"m"`, finish}},
		"text twice":                  {agui.RuleOpenTwice, "", []string{start, `TEXT_MESSAGE_START "messageId":"a"`, `TEXT_MESSAGE_START "messageId":"a"`}},
		"text again":                  {"", "", []string{start, `TEXT_MESSAGE_START "messageId":"a"`, `TEXT_MESSAGE_END "messageId":"a"`, `TEXT_MESSAGE_START "messageId":"a"`}},
		"text that is not open":       {agui.RuleNotOpen, "", []string{start, `TEXT_MESSAGE_CONTENT "messageId":"a","delta":""`}},
		"text open at the end":        {agui.RuleOpenAtEnd, "", []string{start, `TEXT_MESSAGE_START "messageId":"a"`, finish}},
		"text open at an error":       {"", "", []string{start, `TEXT_MESSAGE_START "messageId":"a"`, `RUN_ERROR "message":"m"`}},
		"call open at the end":        {agui.RuleOpenAtEnd, "", []string{start, `TOOL_CALL_START "toolCallId":"a","toolCallName":"n"`, finish}},
		"arguments of no call":        {agui.RuleNotOpen, "", []string{start, `TOOL_CALL_ARGS "toolCallId":"a","delta":"{}"`}},
		"reasoning":                   {"", "", []string{start, `REASONING_START "messageId":"a"`, `REASONING_MESSAGE_START "messageId":"a","role":"reasoning"`, `REASONING_MESSAGE_CONTENT "messageId":"a","delta":"x"`, `REASONING_MESSAGE_END "messageId":"a"`, `REASONING_END "messageId":"a"`, finish}},
		"reasoning open at the end":   {agui.RuleOpenAtEnd, "", []string{start, `REASONING_START "messageId":"a"`, finish}},
		"reasoning that is not open":  {agui.RuleNotOpen, "", []string{start, `REASONING_START "messageId":"a"`, `REASONING_MESSAGE_END "messageId":"a"`}},
		"a role of its own":           {agui.RuleShape, "", []string{start, `REASONING_MESSAGE_START "messageId":"a","role":"assistant"`}},
		"a step twice":                {agui.RuleOpenTwice, "", []string{start, `STEP_STARTED "stepName":"a"`, `STEP_STARTED "stepName":"a"`}},
		"a step of two subagents":     {"", "", []string{start, `STEP_STARTED "stepName":"a"`, `STEP_STARTED "stepName":"a","subagentRunId":"s"`}},
		"another's step":              {agui.RuleNotOpen, "", []string{start, `STEP_STARTED "stepName":"a"`, `STEP_FINISHED "stepName":"a","subagentRunId":""`}},
		"another's text":              {agui.RuleOwner, "", []string{start, `TEXT_MESSAGE_START "messageId":"a"`, `TEXT_MESSAGE_CONTENT "messageId":"a","delta":"x","subagentRunId":"s"`}},
		"no one's end":                {"", "", []string{start, `TEXT_MESSAGE_START "messageId":"a","subagentRunId":"s"`, `TEXT_MESSAGE_END "messageId":"a"`}},
		"a call of another's message": {agui.RuleOwner, "", []string{start, `TEXT_MESSAGE_START "messageId":"a"`, `TOOL_CALL_START "toolCallId":"c","toolCallName":"n","parentMessageId":"a","subagentRunId":"s"`}},
		"another's history":           {agui.RuleOwner, "", []string{start, `MESSAGES_SNAPSHOT "messages":[{"id":"a","role":"assistant","subagentRunId":"s"}]`, `TEXT_MESSAGE_START "messageId":"a","subagentRunId":"q"`}},
		"another's encrypted value":   {agui.RuleOwner, "", []string{start, `TOOL_CALL_START "toolCallId":"c","toolCallName":"n"`, `REASONING_ENCRYPTED_VALUE "subtype":"tool-call","entityId":"c","encryptedValue":"v","subagentRunId":"s"`}},
		"a subagent":                  {"", "", []string{start, `SUBAGENT_STARTED "subagentRunId":"s","name":"n"`, `SUBAGENT_FINISHED "subagentRunId":"s","outcome":{"type":"suspended","interruptIds":[]}`, finish}},
		"a subagent open at the end":  {agui.RuleOpenAtEnd, "", []string{start, `SUBAGENT_STARTED "subagentRunId":"s","name":"n"`, finish}},
		"a subagent again":            {agui.RuleReused, "", []string{start, `SUBAGENT_STARTED "subagentRunId":"s","name":"n"`, `SUBAGENT_ERROR "subagentRunId":"s","message":"m"`, `SUBAGENT_STARTED "subagentRunId":"s","name":"n"`}},
		"a subagent of none":          {agui.RuleNotOpen, "", []string{start, `SUBAGENT_STARTED "subagentRunId":"s","name":"n","parentSubagentRunId":"q"`}},
		"a subagent that never began": {agui.RuleNotOpen, "", []string{start, `SUBAGENT_FINISHED "subagentRunId":"s"`}},
		"a subagent's cancelling":     {agui.RuleShape, "", []string{start, `SUBAGENT_STARTED "subagentRunId":"s","name":"n"`, `SUBAGENT_FINISHED "subagentRunId":"s","outcome":{"type":"cancelled"}`}},
		"a chunk":                     {"", "", []string{start, `TEXT_MESSAGE_CHUNK "messageId":"a","delta":"x"`, `TEXT_MESSAGE_CHUNK "delta":"y"`, finish}},
		"a chunk of nothing":          {agui.RuleNotOpen, "", []string{start, `TEXT_MESSAGE_CHUNK "delta":"x"`}},
		"a chunk of a call":           {agui.RuleNotOpen, "", []string{start, `TOOL_CALL_CHUNK "toolCallId":"a","delta":"x"`}},
		"a chunk of an open text":     {agui.RuleOpenTwice, "", []string{start, `TEXT_MESSAGE_START "messageId":"a"`, `TEXT_MESSAGE_CHUNK "messageId":"a"`}},
		"a patch of nothing":          {agui.RuleUnknown, "", []string{start, `ACTIVITY_DELTA "messageId":"a","activityType":"x","patch":[]`}},
		"a text that is an activity":  {agui.RuleKind, "", []string{start, `ACTIVITY_SNAPSHOT "messageId":"a","activityType":"x","content":{}`, `TEXT_MESSAGE_START "messageId":"a"`}},
		"content that is no object":   {agui.RuleShape, "", []string{start, `ACTIVITY_SNAPSHOT "messageId":"a","activityType":"x","content":[]`}},
		"a wrong pointer":             {agui.RuleShape, "", []string{start, `ACTIVITY_SNAPSHOT "messageId":"a","activityType":"x","content":{}`, `ACTIVITY_DELTA "messageId":"a","activityType":"x","patch":[{"op":"add","path":"a","value":1}]`}},
		"a patch without a value":     {agui.RuleShape, "", []string{start, `STATE_DELTA "delta":[{"op":"add","path":"/a"}]`}},
		"a null in a patch":           {"", "", []string{start, `STATE_DELTA "delta":[{"op":"add","path":"/a","value":null}]`}},
		"a null that is meant":        {"", "", []string{start, `STATE_SNAPSHOT "snapshot":null`, `RAW "event":null`, `CUSTOM "name":"n","value":null`}},
		"a null that is not":          {agui.RuleShape, "", []string{start, `TEXT_MESSAGE_START "messageId":"a","name":null`}},
		"a number with a fraction":    {agui.RuleShape, "", []string{start, `CUSTOM "name":"n","value":1,"timestamp":1.5`}},
		"a member of ours":            {agui.RuleShape, "", []string{start, `CUSTOM "name":"n","value":1,"seq":1`}},
		"an event of ours":            {agui.RuleShape, "", []string{start, `BLOCK_START "blockId":"b"`}},
		"a member too few":            {agui.RuleShape, "", []string{start, `CUSTOM "name":"n"`}},
		"cancelled":                   {agui.RuleVersion, "", []string{start, finish + `,"outcome":{"type":"cancelled"}`}},
		"cancelled in 1.0":            {"", "1.0", []string{start, finish + `,"outcome":{"type":"cancelled"}`}},
		"parts":                       {agui.RuleVersion, "", []string{start, `TOOL_CALL_RESULT "messageId":"a","toolCallId":"b","content":[]`}},
		"parts in 1.0":                {"", "1.0", []string{start, `TOOL_CALL_RESULT "messageId":"a","toolCallId":"b","content":[]`}},
		"an interrupt of nothing":     {agui.RuleShape, "", []string{start, finish + `,"outcome":{"type":"interrupt"}`}},
		"an interrupt without reason": {agui.RuleShape, "", []string{start, finish + `,"outcome":{"type":"interrupt","interrupts":[{"id":"i"}]}`}},
		"a success that waits":        {agui.RuleShape, "", []string{start, finish + `,"outcome":{"type":"success","interrupts":[{"id":"i","reason":"r"}]}`}},
	} {
		g := agui.NewGuard(c.version)
		var err error
		for i, line := range c.stream {
			typ, members, _ := strings.Cut(line, " ")
			if err = g.Check([]byte(`{"type":"` + typ + `",` + members + `}`)); err != nil && i < len(c.stream)-1 {
				t.Errorf("%s: event %d: %v", name, i+1, err)
			}
		}
		switch {
		case c.rule == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.rule != "" && !errors.Is(err, &agui.GuardError{Rule: c.rule}):
			t.Errorf("%s: %v, want %s", name, err, c.rule)
		}
	}
}
