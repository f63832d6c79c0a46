package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/collet-dev/collet/host"
)

// consenter asks the person at the terminal before a call, or says yes for them with
// yes.
func consenter(k *keyboard, yes bool) host.Consenter {
	if yes {
		return func(context.Context, host.ConsentQuestion) (host.ConsentAnswer, error) {
			return host.ConsentAnswer{Yes: true, By: "--yes"}, nil
		}
	}
	if !k.there() {
		return func(context.Context, host.ConsentQuestion) (host.ConsentAnswer, error) {
			return host.ConsentAnswer{}, errors.New("there is nobody to ask (--yes says yes without asking)")
		}
	}
	return func(ctx context.Context, q host.ConsentQuestion) (host.ConsentAnswer, error) {
		done, err := k.take(ctx)
		if err != nil {
			return host.ConsentAnswer{}, err
		}
		defer done()
		line, err := k.line(ctx, consentQuestion(&q))
		if err != nil {
			return host.ConsentAnswer{}, err
		}
		a := host.ConsentAnswer{By: "terminal"}
		switch strings.ToLower(line) {
		case "y", "yes":
			a.Yes = true
		case "a", "always":
			a.Yes, a.Always = true, true
		}
		return a, nil
	}
}

func consentQuestion(q *host.ConsentQuestion) string {
	who := "This command"
	if q.Caller == host.Script {
		who = "The script"
	}
	why := ""
	if q.Adapter {
		why = " (the adapter asks for consent once in a session)"
	}
	return fmt.Sprintf("%s calls %s/%s%s with\n  %s\nMay it? [y]es, [N]o, [a]lways (also for scripts and models): ", who, visible(q.Server), visible(q.Tool), why, q.Shown())
}
