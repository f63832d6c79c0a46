// Command collet-plugin-hello greets people: the smallest useful adapter.
package main

import (
	"cmp"
	"context"

	"github.com/collet-dev/collet/sdk/adapter"
)

type config struct {
	Greeting string `json:"greeting,omitempty" jsonschema:"the words before the name; Hello when left out"`
}

type person struct {
	Name string `json:"name" jsonschema:"who to greet"`
}

func main() {
	adapter.Main(adapter.Info{Name: "hello", Version: "0.1.0", Summary: "Greets people."}, open)
}

func open(_ context.Context, _ *adapter.Env, cfg config) (adapter.Server, error) {
	var tools adapter.Tools
	adapter.Add(&tools, "greet", "Greet somebody.", func(_ context.Context, call *adapter.Call, in person) (string, error) {
		call.Progress(1, 1, "greeting "+in.Name)
		return cmp.Or(cfg.Greeting, "Hello") + ", " + in.Name + "!", nil
	}, adapter.ReadOnly())
	return &tools, nil
}
