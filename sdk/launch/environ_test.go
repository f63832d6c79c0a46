package launch

import (
	"slices"
	"testing"
)

func TestShortEnv(t *testing.T) {
	environ := []string{
		"PATH=/bin", "HOME=/h", "USER=u", "SHELL=sh", "LANG=C", "LC_ALL=C", "LC_TIME=C", "TERM=xterm", "TMPDIR=/t", "TZ=UTC",
		"XDG_RUNTIME_DIR=/r", "SSL_CERT_FILE=/f", "SSL_CERT_DIR=/d", "NODE_EXTRA_CA_CERTS=/n", "HTTPS_PROXY=p", "no_proxy=q", "ALL_PROXY=",
		"GITHUB_TOKEN=t", "AWS_SECRET_ACCESS_KEY=s", "PATHOLOGY=x", "MYPATH=x", "home=x", "=C:=C:\\x", "broken", "EMPTY=", "SystemRoot=C:\\W",
	}
	short := environ[:17]
	for _, test := range []struct {
		name    string
		windows bool
		more    []string
		want    []string
	}{
		{"short list", false, nil, short},
		{"named too", false, []string{"GITHUB_TOKEN", "EMPTY", "UNSET"}, append(slices.Clone(short), "GITHUB_TOKEN=t", "EMPTY=")},
		{"case counts", false, []string{"github_token"}, short},
		{"windows", true, []string{"github_token"}, append(slices.Clone(short), "GITHUB_TOKEN=t", "home=x", "SystemRoot=C:\\W")},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := shortEnv(test.windows, environ, test.more); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
	if got := ShortEnv(nil); got == nil || len(got) != 0 {
		t.Errorf("of nothing: %#v; nil would mean the host's environment to package exec", got)
	}
}
