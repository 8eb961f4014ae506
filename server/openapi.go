package server

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"gopkg.in/yaml.v3"
)

//go:embed openapi.yaml
var openapiYAML []byte

// description returns the OpenAPI document of the API, made once. The paths
// without a version are written out here, so that each is described once.
func description(version string) func() ([]byte, error) {
	return sync.OnceValues(func() ([]byte, error) {
		var doc map[string]any
		if err := yaml.Unmarshal(openapiYAML, &doc); err != nil {
			return nil, fmt.Errorf("openapi.yaml: %w", err)
		}
		info, ok := doc["info"].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("openapi.yaml: no info")
		}
		info["version"] = version
		paths, ok := doc["paths"].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("openapi.yaml: no paths")
		}
		aliases := make(map[string]any)
		for path, item := range paths {
			if alias, ok := unprefixed(path); ok {
				aliases[alias] = deprecated(item)
			}
		}
		for path, item := range aliases {
			paths[path] = item
		}
		b, err := json.Marshal(doc)
		if err != nil {
			return nil, fmt.Errorf("openapi.yaml: %w", err)
		}
		return append(b, '\n'), nil
	})
}

// deprecated copies a path item for its path without a version.
func deprecated(item any) map[string]any {
	out := make(map[string]any)
	methods, _ := item.(map[string]any)
	for method, v := range methods {
		op, ok := v.(map[string]any)
		if !ok || method == "parameters" {
			out[method] = v
			continue
		}
		copied := map[string]any{"deprecated": true}
		for k, v := range op {
			copied[k] = v
		}
		if id, ok := op["operationId"].(string); ok {
			copied["operationId"] = id + "Unversioned"
		}
		out[method] = copied
	}
	return out
}

func (s *server) getOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	b, err := s.openapi()
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	h.Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("write description: %w", err)
	}
	return nil
}
