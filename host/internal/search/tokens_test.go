package search

import (
	"strings"
	"testing"
)

// marks of kinds in the tables below; a word has none.
var marks = map[kind]string{whole: "=", part: "+", char: ".", pair: ":"}

func tokens(text string) string {
	var all []string
	tokenize(text, func(token string, k kind) { all = append(all, marks[k]+token) })
	return strings.Join(all, " ")
}

func TestTokenize(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		"create_issue":                 "create issue",
		"createIssue":                  "=createissue +create +issue",
		"CreateIssue":                  "=createissue +create +issue",
		"create-issue":                 "=createissue +create +issue",
		"repos.create.issue":           "repos create issue",
		"HTTPServer":                   "=httpserver +http +server",
		"getHTTPResponse":              "=gethttpresponse +get +http +response",
		"URLs":                         "urls",
		"listURLsOfIDs":                "=listurlsofids +list +urls +of +ids",
		"PDF":                          "pdf",
		"GitHub":                       "=github +git +hub",
		"iPhone":                       "=iphone +phone",
		"e-mail to-do":                 "=email +mail =todo +to +do",
		"state-of-the-art":             "=stateoftheart +state +of +the +art",
		"GitHub-API":                   "=github +git +hub api",
		"a - b -- c-":                  "a b c",
		"base64 utf8 oauth2":           "=base64 +base +64 =utf8 +utf =oauth2 +oauth",
		"s3 ec2 k8s 2fa v2":            "s3 ec2 k8s 2fa v2",
		"S3Bucket getEC2Instance":      "=s3bucket +s3 +bucket =getec2instance +get +ec2 +instance",
		"the user's don't we'll it":    "the user don we it",
		"user’s O'Reilly":              "user o reilly",
		"Café Ünïcode":                 "café ünïcode",
		"Cafe\u0301":                   "café", // decomposed
		"ＡＰＩ ﬁle":                      "api file",
		"Привет мир":                   "привет мир",
		"查询天气":                         ".查 .询 :查询 .天 :询天 .气 :天气",
		"用create_issue创建":              ".用 create issue .创 .建 :创建",
		"ファイル":                         ".フ .ァ :ファ .イ :ァイ .ル :イル",
		"ﾌｧｲﾙ":                         ".フ .ァ :ファ .イ :ァイ .ル :イル", // half width
		"メール":                          ".メ .ー :メー .ル :ール",
		"파일 검색":                        ".파 .일 :파일 .검 .색 :검색",
		"\xff\xfe bad \x80utf8":        "bad =utf8 +utf",
		"🙂 smile":                      "smile",
		strings.Repeat("x", maxWord+1): "",
		strings.Repeat("x", maxWord):   strings.Repeat("x", maxWord),
	} {
		if got := tokens(text); got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestStem(t *testing.T) {
	for a, b := range map[string]string{
		"repositories": "repository", "creating": "create", "deleted": "delete", "searches": "search", "listing": "list",
		"converted": "converts", "files": "file",
	} {
		if stem(a) != stem(b) {
			t.Errorf("%s: %s, %s: %s", a, stem(a), b, stem(b))
		}
	}
	for _, w := range []string{"s3", "base64", "café", "天", ""} {
		if got := stem(w); got != w {
			t.Errorf("stem(%q) = %q", w, got)
		}
	}
	if stem("news") == stem("new") || stem("organization") == "" {
		t.Error("different words have one stem")
	}
}

// A group with one word only, or a word of two letters' meaning, would be a slip
// in the tables.
func TestVocabulary(t *testing.T) {
	for s, others := range synonyms() {
		if len(others) == 0 {
			t.Errorf("%q has no synonyms", s)
		}
		for _, o := range others {
			if o == s {
				t.Errorf("%q is its own synonym", s)
			}
		}
	}
	for line := range strings.Lines(glossaryText) {
		if fields := strings.Fields(line); len(fields) == 1 {
			t.Errorf("%q has no foreign words", fields[0])
		} else if len(fields) > 1 {
			for _, foreign := range fields[1:] {
				if span(foreign, 0, isUnspaced) != len(foreign) {
					t.Errorf("%q would never be looked up: it is no run of one of these scripts", foreign)
				}
			}
		}
	}
}

func TestTranslate(t *testing.T) {
	for run, want := range map[string]string{
		"":         "",
		"天气预报":     "weather forecast",
		"请把文件夹删除":  "folder delete", // not "file"
		"会議の予定を作成": "meeting schedule create",
		"데이터베이스":   "database", // not "data"
		"没有":       "",
		"ー":        "",
	} {
		var got []string
		translate(run, func(english string) { got = append(got, english) })
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", run, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for query, want := range map[string]string{
		"":                               "",
		"what is the weather like":       "weather",
		"how do I use this":              "how do i use this", // nothing else is left
		"create an issue, create issues": "creat issu",
		"GitHub":                         "github(git hub)",
		"to-do":                          "todo",
		"天気予報":                           "天 気 天気 予 気予 報 予報 weather forecast",
		"ﾒｰﾙ":                            "メー ール email",
		"\xff検索\xe5":                     "検 索 検索 search",
		"メールを送って":                        "メー ール ルを 送 を送 送っ って email send",
		"https://example.com/a?b=c":      "https exampl com b c",
		"一一一":                            "一 一一",
	} {
		var got []string
		for _, a := range parse(query) {
			w := a.stem
			if a.parts != nil {
				w += "(" + strings.Join(a.parts, " ") + ")"
			}
			got = append(got, w)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %s, want %s", query, strings.Join(got, " "), want)
		}
	}
}
