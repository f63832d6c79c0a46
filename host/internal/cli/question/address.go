package question

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Address is a question that is answered on a page of the web (2025-11-25,
// client/elicitation, URL Mode).
type Address struct {
	Message string
	URL     *url.URL
}

// maxURL bounds an address, in bytes: browsers take no longer ones either.
const maxURL = 8 << 10

// ReadAddress reads the params of elicitation/create in URL mode. The error says why
// the address is not opened.
func ReadAddress(params json.RawMessage) (*Address, error) {
	if len(params) > maxParams {
		return nil, fmt.Errorf("its question has %d bytes, and at most %d are shown", len(params), maxParams)
	}
	p := gjson.ParseBytes(params)
	text := p.Get("url").String()
	u, err := url.Parse(text)
	switch {
	case err != nil, len(text) > maxURL, strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return nil, errors.New("the address it wants opened is not valid")
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return nil, errors.New("the address it wants opened is not http or https")
	case u.User != nil:
		return nil, errors.New("the address that it wants opened has a user's name in it, which hides where it leads")
	}
	return &Address{Message: p.Get("message").String(), URL: u}, nil
}

// String is the question on one line, for a notice.
func (a *Address) String() string {
	return saying(a.Message, "to be answered at "+plain(a.URL.String(), maxURL))
}

// warning is what a person should know of the address, "" when nothing.
func (a *Address) warning() string {
	host := strings.ToLower(a.URL.Hostname()) // as browsers read it
	var all []string
	if strings.ContainsFunc(host, func(r rune) bool { return r > 0x7e }) {
		all = append(all, "Its name has letters beyond ASCII, which can look like others: "+strconv.QuoteToASCII(host))
	}
	if strings.HasPrefix(host, "xn--") || strings.Contains(host, ".xn--") {
		all = append(all, "Its name is an encoded one (xn--), and browsers may show it as a name that looks like another.")
	}
	if a.URL.Scheme == "http" {
		all = append(all, "The address is not encrypted (http): others may read or change what you enter there.")
	}
	return strings.Join(all, "\n")
}

// Visit asks whether an address is to be opened, and opens it only after a yes.
func (p *Person) Visit(ctx context.Context, who Asking, a *Address) (json.RawMessage, error) {
	shown := a.URL.String()
	fmt.Fprintf(p.Out, "%s, for a page to be opened:\n%s  address: %s\n  host:    %s\n",
		who, lines(a.Message), plain(shown, maxURL), plain(a.URL.Host, maxURL))
	if w := a.warning(); w != "" {
		fmt.Fprintf(p.Out, "%s\n", w)
	}
	prompt, open := "Open it in a browser? [y]es, "+ways, true
	if p.visited[shown] { // a server of 2026-07-28 asks again until its page is done
		prompt, open = "It has been opened. Is it done there? [y]es, [o]pen it again, "+ways, false
	}
	c, err := p.choose(ctx, prompt, !open)
	if err != nil {
		return nil, err
	}
	if c == again {
		c, open = yes, true
	}
	if c != yes {
		return answerOf(c, nil), nil
	}
	if open {
		if p.visited == nil {
			p.visited = make(map[string]bool)
		}
		p.visited[shown] = true
		if err := p.Open(shown); err != nil {
			fmt.Fprintf(p.Out, "No browser can be opened here: %s. Open the address above yourself.\n", plain(err.Error(), maxText))
		}
	}
	return accepted, nil
}
