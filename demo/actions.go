package demo

import (
	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/tool"
)

// ActionDefs returns the actions of every demonstration, to be looked at: without
// an open one they do nothing.
func ActionDefs() ([]action.Def, error) { return new(Demo).makeActions() }

func (d *Demo) makeActions() ([]action.Def, error) {
	defs := []action.Def{d.exportOrders(), d.deleteExpenses(), d.restoreExpenses()}
	for _, make := range []func() (action.Def, error){d.watchProduct, d.addToBasket} {
		def, err := make()
		if err != nil {
			return nil, err
		}
		defs = append(defs, def)
	}
	return defs, nil
}

// bilingual are words in both languages of the demonstration.
func bilingual(en, zh string) action.Words { return action.Words{"": en, "zh": zh} }

// owner names whose samples are meant: everybody has some of their own.
func owner(c tool.Caller) string { return c.Tenant + "/" + c.User }

// sampleSource names where sample data comes from, in other languages than
// English.
var sampleSource = map[string]string{"zh": "示例数据"}

// sampleBlock announces a block of sample data.
func sampleBlock(name string, height int) *tool.BlockSpec {
	return &tool.BlockSpec{Type: name, Source: "Sample data", Sources: sampleSource, Height: height}
}
