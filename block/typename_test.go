package block

import "testing"

func TestTypeNameOf(t *testing.T) {
	for in, want := range map[string]string{
		"chart":                         "chart",
		"inlay.chart":                   "chart",
		"minara.feature_recommendation": "minara.feature_recommendation",
		"ProductCard":                   "app.product_card",
		"acme.ProductCard":              "acme.product_card",
		"HTMLCard":                      "app.html_card",
		"Page2Card":                     "app.page2_card",
		"Card":                          "app.card",
		"Train_Card":                    "app.train_card",
	} {
		if got := TypeNameOf(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
