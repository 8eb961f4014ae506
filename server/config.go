package server

import "net/http"

type suggestion struct {
	Text string `json:"text"`
}

// getClientConfig tells the page what it cannot know.
func (s *server) getClientConfig(w http.ResponseWriter, r *http.Request) error {
	lang := callOf(r).lang
	list := []suggestion{}
	for _, text := range s.Suggestions(lang) {
		list = append(list, suggestion{text})
	}
	allow := s.Allow
	for _, l := range []*[]string{&allow.Routes, &allow.Slash, &allow.Modals, &allow.LinkHosts, &allow.ImageHosts} {
		if *l == nil {
			*l = []string{}
		}
	}
	w.Header().Add("Vary", "Accept-Language")
	w.Header().Set("Content-Language", lang)
	return writeJSON(w, http.StatusOK, map[string]any{
		"title":           s.Title(lang),
		"model":           s.Model,
		"demo":            s.Model.Kind == "scripted",
		"sampleData":      s.SampleData,
		"suggestions":     list,
		"allow":           allow,
		"auth":            map[string]string{"mode": s.Auth.Mode()},
		"limits":          map[string]int{"inputBytes": s.Limits.InputBytes},
		"showToolDetails": s.ShowToolDetails,
		"uploads":         s.uploads(),
	})
}
