package search

import "testing"

func TestOneSlip(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"search", "serach", true},  // swapped
		{"search", "seach", true},   // one less
		{"search", "searrch", true}, // one more
		{"search", "seorch", true},  // another
		{"search", "searchs", true}, // at the end
		{"search", "searc", true},   //
		{"search", "search", false}, // none
		{"search", "sarech", false}, // two apart
		{"search", "searhc", true},  // swapped at the end
		{"search", "searched", false},
		{"search", "", false},
		{"", "a", true},
		{"", "", false},
		{"größe", "grösse", false},
		{"größe", "große", true},
		{"größe", "größen", true},
		{"größe", "grßöe", true},
	} {
		if oneSlip(c.a, c.b) != c.want || oneSlip(c.b, c.a) != c.want {
			t.Errorf("%q, %q: want %v both ways", c.a, c.b, c.want)
		}
	}
}

func TestUnknownWords(t *testing.T) {
	index := indexOf(
		"code: list_repositories create_webhook validate read_page web_search",
		"disk: filesystem_info configuration upload_file",
		"GitHub: star", "mail: e-mail_list to-do",
	)
	for query, want := range map[string]string{
		"confi":       "disk/configuration",     // the beginning of a word
		"reposit":     "code/list_repositories", //
		"webpage":     "code/read_page",         // two words written as one
		"file system": "disk/filesystem_info",   // one word written as two
		"repositries": "code/list_repositories", // a slip
		"wehbook":     "code/create_webhook",    //
		"uplaod":      "disk/upload_file",       //
		"github":      "GitHub/star",
		"git hub":     "GitHub/star",
		"email":       "mail/e-mail_list",
		"todo":        "mail/to-do",
	} {
		if got := search(index, query, Options{Limit: 1}); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	// Too short to guess, or too far away.
	for _, query := range []string{"vx", "xalidate", "vlaidtae", "zzzzzz"} {
		if got := search(index, query, Options{}); got != "" {
			t.Errorf("%q: %q, want nothing", query, got)
		}
	}
}

// A word is guessed at only where it is unknown.
func TestKnownWordsAreNotGuessed(t *testing.T) {
	index := indexOf("a: cart card carton")
	if got := search(index, "the cart", Options{}); got != "a/cart" {
		t.Error(got)
	}
}
