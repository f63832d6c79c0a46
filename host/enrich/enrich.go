// Package enrich gathers what is known of a company before one meets it: what the web
// says, from the tool research_company of the server websearch, and what the own
// organisation knows, from the tool ask of the server workiq, for which a person is
// asked first. It is `collet enrich` as a Go API.
//
// A source that cannot be used is left out, and said so; what the others found is
// there nevertheless. It writes no files, keeps nothing, and reaches the sources
// through the host's calls alone.
package enrich

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// The sources, as in Enrichment.Sources.
const (
	WebSearch = "websearch"
	WorkIQ    = "workiq"
)

// Bounds of what comes out, and of what goes in.
const (
	maxItems = 10   // of each list
	maxItem  = 2000 // characters of one item: a title, an excerpt and an address
	maxName  = 200  // characters; research_company takes as many
)

// Subject is what to find out about.
type Subject struct {
	Company  string // its name
	Industry string // without it nothing is said of trends
	Team     string // of the own organisation; it narrows what workiq is asked
}

// Enrichment is what was found. Every member may be missing; docs/enrich.schema.json
// is its JSON Schema.
type Enrichment struct {
	// WebSearchResults is what a search for the company found, as text: one page a
	// line, its title, an excerpt and its address. The lists are made of such lines.
	WebSearchResults string   `json:"webSearchResults,omitempty"`
	CompanyNews      []string `json:"companyNews,omitempty"`
	CompetitorInfo   []string `json:"competitorInfo,omitempty"`
	IndustryTrends   []string `json:"industryTrends,omitempty"`
	// WorkIQ is what the own organisation knows, by Work IQ's word.
	WorkIQ *Insights `json:"workiqInsights,omitempty"`
	// EnrichedAt is when, in whole seconds of UTC.
	EnrichedAt time.Time `json:"enrichedAt,omitzero"`
	// Sources are those that answered: WebSearch, WorkIQ.
	Sources []string `json:"sourcesUsed,omitempty"`
}

// Insights is what Work IQ says.
type Insights struct {
	TeamExpertise         []string `json:"teamExpertise,omitempty"`
	CollaborationPatterns []string `json:"collaborationPatterns,omitempty"`
	DocumentationGaps     []string `json:"documentationGaps,omitempty"`
}

// JSON is the enrichment as a document for a file: indented, with a line feed at its
// end.
func (e *Enrichment) JSON() ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(e); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}

// Skipped is a source, or a part of one, that is missing, and why.
type Skipped struct {
	Source string // WebSearch or WorkIQ
	Part   string // the member of Enrichment that is missing; "" is everything of the source
	Err    error  // a *host.Failure where a call came to it
}

// String is one line for a person.
func (s Skipped) String() string {
	why := strings.Join(strings.Fields(s.Err.Error()), " ")
	if s.Part != "" {
		return s.Source + ": no " + s.Part + ": " + why
	}
	return s.Source + " is skipped: " + why
}

// Caller is what of a host is needed; *host.Host is one.
type Caller interface {
	Servers() []host.Server
	Call(ctx context.Context, req host.Request) (*host.Result, error)
}

// Options say which servers to use, and who asks. All may be left out.
type Options struct {
	// WebSearch and WorkIQ are names of servers. Default: the server that has the
	// plugin of that name, the one called like it if there are several.
	WebSearch, WorkIQ string
	// Caller is on whose behalf the calls are made. Default: host.Program.
	Caller host.Caller
	// Consent asks a person before workiq is asked. Default: the host's.
	Consent host.Consenter
	// OnProgress is told how a source is getting on, from any goroutine.
	OnProgress func(source string, p host.Progress)
	// OnSkipped is told what is missing when it turns out to be, before the next source
	// is asked.
	OnSkipped func(Skipped)
}

// Run asks the sources one after the other, so that a person who is asked for consent
// to the second knows what became of the first. What is missing is in the second
// result, in that order. The error is a subject that cannot be asked about, a
// *failure.Failure, or the end of ctx. When no source answered, Sources is empty, and
// so is all else.
func Run(ctx context.Context, h Caller, about Subject, opt Options) (*Enrichment, []Skipped, error) {
	about, err := about.clean()
	if err != nil {
		return nil, nil, err
	}
	if opt.Caller == "" {
		opt.Caller = host.Program
	}
	e := &Enrichment{}
	var skipped []Skipped
	for _, source := range []struct {
		name, server string
		ask          func(context.Context, *asker) ([]Skipped, error)
	}{
		{WebSearch, opt.WebSearch, e.web},
		{WorkIQ, opt.WorkIQ, e.work},
	} {
		server, err := find(h.Servers(), source.name, source.server)
		var partly []Skipped
		if err == nil {
			partly, err = source.ask(ctx, &asker{h, opt, about, source.name, server})
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			partly = []Skipped{{Source: source.name, Err: err}}
		} else {
			e.Sources = append(e.Sources, source.name)
		}
		for _, s := range partly {
			if skipped = append(skipped, s); opt.OnSkipped != nil {
				opt.OnSkipped(s)
			}
		}
	}
	if len(e.Sources) > 0 {
		e.EnrichedAt = time.Now().UTC().Truncate(time.Second)
	}
	return e, skipped, nil
}

// clean is the subject with single spaces, and within bounds.
func (s Subject) clean() (Subject, error) {
	for _, f := range []struct {
		name  string
		value *string
	}{{"company", &s.Company}, {"industry", &s.Industry}, {"team", &s.Team}} {
		*f.value = strings.Join(strings.Fields(*f.value), " ")
		if !utf8.ValidString(*f.value) || utf8.RuneCountInString(*f.value) > maxName {
			return s, failure.New(failure.InvalidArguments, failure.NotSent, "the name of the %s is not UTF-8, or longer than %d characters", f.name, maxName)
		}
	}
	if s.Company == "" {
		return s, failure.New(failure.InvalidArguments, failure.NotSent, "the name of the company is empty")
	}
	return s, nil
}

// find is the server to use for a source.
func find(servers []host.Server, source, named string) (string, error) {
	var fit []string
	for _, s := range servers {
		switch {
		case named != "" && s.Name == named, named == "" && pluginName(s.Plugin) == source && s.State != "disabled":
			fit = append(fit, s.Name)
		}
		if named == "" && len(fit) > 0 && fit[len(fit)-1] == source {
			return source, nil
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case named != "":
		return "", notFound("no server is called " + strconv.Quote(named))
	case len(fit) == 0:
		return "", notFound("no server is configured that has the plugin " + source)
	}
	return "", notFound("several servers have the plugin " + source + ", and none is called like it: name one of " + strings.Join(fit, ", "))
}

// pluginName is the name of a plugin that may be written as a path.
func pluginName(written string) string {
	base := written[strings.LastIndexAny(written, `/\`)+1:]
	return strings.TrimPrefix(strings.TrimSuffix(base, ".exe"), "collet-plugin-")
}

func notFound(why string) error {
	return failure.New(failure.NotFound, failure.NotSent, "%s", why)
}

// asker makes the calls to one source.
type asker struct {
	host   Caller
	opt    Options
	about  Subject
	source string
	server string
}

// call returns the structuredContent of a tool's answer and its text.
func (a *asker) call(ctx context.Context, tool string, args any) (*answer, error) {
	raw, err := encode(args)
	if err != nil {
		return nil, err
	}
	req := host.Request{Tool: a.server + "/" + tool, Arguments: raw, Caller: a.opt.Caller, Consent: a.opt.Consent}
	if a.opt.OnProgress != nil {
		req.OnProgress = func(p host.Progress) { a.opt.OnProgress(a.source, p) }
	}
	res, err := a.host.Call(ctx, req)
	if err != nil {
		return nil, err
	}
	got := read(res.JSON)
	if res.IsError {
		return nil, refused(a.server, tool, got.text)
	}
	return got, nil
}

// refused is a tool that says it failed.
func refused(server, tool, text string) error {
	if text == "" {
		text = "it does not say why"
	}
	f := &host.Failure{Failure: *failure.New(failure.ServerError, failure.Answered, "the tool says it failed: %s", cut(text, maxItem)), Server: server, Tool: tool}
	f.Origin = failure.OriginUpstream
	return f
}

// withdrawn reports whether an error says that there is no such tool.
func withdrawn(err error) bool {
	f, ok := errors.AsType[*host.Failure](err)
	return ok && f.Class == failure.NotFound
}
