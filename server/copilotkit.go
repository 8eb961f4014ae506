package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/inlay-ui/inlay/wire/agui"
)

// The routes that CopilotKit's client expects of a runtime. The agent is always
// the same one: an application that names none looks for "default".
var copilotAgents = []string{"default", "inlay"}

// aguiCapabilities is what an agent can do, as AG-UI describes it.
func (s *server) aguiCapabilities(r *http.Request) map[string]any {
	types := []string{}
	for _, t := range s.Registry.Types() {
		types = append(types, fmt.Sprintf("%s@%d", t.FullName(), t.Version))
	}
	files := s.uploads()
	return map[string]any{
		"identity":       map[string]any{"name": s.Title(callOf(r).lang), "type": "inlay", "version": s.Version},
		"transport":      map[string]any{"streaming": true, "websocket": false, "httpBinary": false, "pushNotifications": false, "resumable": true},
		"tools":          map[string]any{"supported": true, "clientProvided": true},
		"output":         map[string]any{"supportedMimeTypes": []string{"text/markdown"}},
		"state":          map[string]any{"snapshots": true, "deltas": false},
		"reasoning":      map[string]any{"supported": true, "streaming": true, "encrypted": false},
		"multimodal":     map[string]any{"input": map[string]bool{"image": files.Enabled, "file": files.Enabled}},
		"humanInTheLoop": map[string]any{"supported": true, "approvals": true, "interrupts": true, "approveWithEdits": true},
		"custom": map[string]any{"inlay": map[string]any{
			"blocks":       types,
			"capabilities": "forwardedProps.capabilities",
			"connect":      "/v1/ag-ui/connect",
			"stop":         "/v1/ag-ui/stop",
		}},
	}
}

func (s *server) getAguiCapabilities(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, http.StatusOK, s.aguiCapabilities(r))
}

// copilotInfo is the body that tells of the runtime.
func (s *server) copilotInfo(r *http.Request) map[string]any {
	agents := make(map[string]any)
	for _, id := range copilotAgents {
		agents[id] = map[string]any{
			"name": id, "className": "Inlay", "description": s.Title(callOf(r).lang), "capabilities": s.aguiCapabilities(r),
		}
	}
	return map[string]any{
		"version":                       s.Version,
		"agents":                        agents,
		"audioFileTranscriptionEnabled": false,
		"mode":                          "sse",
		"threadEndpoints":               map[string]bool{"list": false, "inspect": false, "mutations": false, "realtimeMetadata": false},
		"suggestions":                   false,
		"a2ui":                          map[string]bool{"enabled": false},
		"a2uiEnabled":                   false,
		"openGenerativeUIEnabled":       false,
		"telemetryDisabled":             true,
	}
}

func (s *server) getCopilotInfo(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, http.StatusOK, s.copilotInfo(r))
}

// copilotAgent finds the agent that a request names.
func copilotAgent(id string) error {
	if slices.Contains(copilotAgents, id) {
		return nil
	}
	a := notFound()
	a.message = "There is no such agent."
	a.details = map[string]any{"agents": copilotAgents}
	return a
}

func (s *server) postCopilotRun(w http.ResponseWriter, r *http.Request) error {
	if err := copilotAgent(r.PathValue("id")); err != nil {
		return err
	}
	return s.postAgui(w, r)
}

func (s *server) postCopilotConnect(w http.ResponseWriter, r *http.Request) error {
	if err := copilotAgent(r.PathValue("id")); err != nil {
		return err
	}
	return s.postAguiConnect(w, r)
}

func (s *server) postCopilotStop(w http.ResponseWriter, r *http.Request) error {
	return s.copilotStop(w, r, r.PathValue("id"), r.PathValue("thread"))
}

// copilotStop stops what is written to a thread, in the words of the runtime.
func (s *server) copilotStop(w http.ResponseWriter, r *http.Request, agent, thread string) error {
	if err := copilotAgent(agent); err != nil {
		return err
	}
	if err := foreignName("threadId", thread); err != nil {
		return err
	}
	running, err := s.haltThread(r, agui.Name, thread, "")
	if err != nil {
		return err
	}
	if !running {
		return writeJSON(w, http.StatusOK, map[string]any{"stopped": false, "message": "Nothing is running in the thread."})
	}
	return writeJSON(w, http.StatusOK, map[string]any{"stopped": true})
}

// copilotBody is the body of the one route that takes everything.
type copilotBody struct {
	Method string `json:"method"`
	Params struct {
		AgentID  string `json:"agentId"`
		ThreadID string `json:"threadId"`
	} `json:"params"`
	Body json.RawMessage `json:"body"`
}

func (s *server) postCopilot(w http.ResponseWriter, r *http.Request) error {
	raw, err := payload(r, false)
	if err != nil {
		return err
	}
	var body copilotBody
	if err := json.Unmarshal(raw, &body); err != nil {
		return decodeError(err, &body, int64(len(raw)))
	}
	switch body.Method {
	case "info":
		return writeJSON(w, http.StatusOK, s.copilotInfo(r))
	case "agent/stop":
		return s.copilotStop(w, r, body.Params.AgentID, body.Params.ThreadID)
	case "agent/run", "agent/connect":
	default:
		return invalid("Unknown method.", map[string]any{"field": "method", "known": []string{"info", "agent/run", "agent/connect", "agent/stop"}})
	}
	if err := copilotAgent(body.Params.AgentID); err != nil {
		return err
	}
	if len(body.Body) == 0 {
		return invalid("body is missing.", map[string]any{"field": "body"})
	}
	in, err := s.aguiParse(r, body.Body)
	if err != nil {
		return err
	}
	if body.Method == "agent/run" {
		return s.aguiRun(w, r, in)
	}
	return s.aguiConnect(w, r, in)
}
