package search

import (
	"strings"
	"sync"
)

// stopWords of a query say how it is asked, not what for. They are looked up as
// written, before stemming, and count only when a query has nothing else. The
// index keeps them: a tool may be called "who".
var stopWords = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(stopText) {
		set[w] = true
	}
	return set
})

const stopText = `
a an the this that these those there here it its itself they them their theirs he him his she her hers we us our ours
you your yours i me my mine myself yourself someone somebody something anyone anybody anything everyone everything one
and or but nor so yet if then else than as at by for from in into of off on onto out over per to toward towards under up
upon via with within without about across after against along among around before behind below beneath beside between
beyond during except near since through throughout until
am is are was were be been being do does did doing done don has have had having hasn haven isn aren wasn weren doesn didn
can could may might must shall should will would won wouldn couldn shouldn cannot ain
who whom whose what which when where why how whatever whichever whenever wherever however
not no yes ok okay any some such each every both either neither own same other others another all just only also too very
really quite rather even still already again ever never please kindly thanks thank hi hello hey
want wants wanted wanting need needs needed needing like likes would wish hope help helps helping let lets able try trying
trying going go tell give use uses used using tool tools function functions plugin plugins api apis called way thing things
stuff lot bit much many more most few less least kind sort currently
的 了 我 你 您 他 她 请 請 吗 嗎 呢 吧 啊 把 被 是 在 和 与 與 或 个 個 这 這 那 要 想 帮 幫 给 給 用 中 里 所 有
我想 想要 帮我 幫我 请帮 請幫 给我 給我 一个 一個 一下 可以 需要 如何 怎么 怎麼 怎样 怎樣 什么 什麼 这个 這個 哪些 哪个
する して した しま ます ませ です でき きる たい から まで この その あの こと もの ため よう くだ ださ さい ほし しい とか など どう どの
`

// synonymWeight is what a word counts for that was not asked for but means much
// the same.
const synonymWeight = 0.3

// synonyms are words of developers and offices that stand for one another in the
// names of tools, one group a line; a word may be in several.
const synonymText = `
create add new make insert generate
delete remove erase drop destroy clear purge
list show get display view enumerate browse
get fetch retrieve read obtain load
find search query look lookup locate discover seek
update edit modify change alter patch revise
set configure assign adjust
send post submit publish deliver share
run execute invoke start launch trigger
stop cancel abort terminate kill halt end
write save store put record
copy duplicate clone fork
move transfer migrate relocate
rename retitle relabel
merge combine join concatenate
split divide separate
compare diff difference
convert transform translate format
check verify validate test inspect
analyze analyse examine evaluate assess review
calculate compute count sum
download export pull
upload import push
open navigate visit go
close shut resolve
install deploy setup provision
explain describe summarize summarise overview
file document doc attachment
folder directory dir
image picture photo img screenshot
email mail message inbox
message chat dm reply
issue ticket bug problem
task todo reminder
repo repository project
commit revision changeset
user person member account people contact
team group organization org
meeting event appointment calendar schedule
date time day datetime
weather forecast temperature climate
map location place address geocode
route direction directions
price cost quote rate
money currency payment cash dollar euro
buy purchase order shop
stock share equity ticker
news article headline
website site web webpage page url link
internet web online
database db sql table
log logs trace history
error exception failure crash
config configuration settings preferences options
auth authentication login signin credential
permission access role privilege
key secret token password
code source program script
doc docs documentation manual guide
video movie film clip
music song audio track
book ebook novel literature
job career employment vacancy
trip travel journey vacation holiday
hotel accommodation lodging
restaurant food dining meal
recipe cooking dish
buildings property apartment home house
company business firm enterprise
customer client lead
invoice bill receipt
chart graph plot diagram visualize
summary abstract digest
server host machine vm instance
container docker pod
monitor watch observe track
notify alert notification
comment note remark annotation
label tag category
random arbitrary dice
info information detail details
latest recent newest last
`

// synonyms maps a stem to the stems of its groups, itself excluded.
var synonyms = sync.OnceValue(func() map[string][]string {
	groups := map[string][]string{}
	for line := range strings.Lines(synonymText) {
		var stems []string
		for _, w := range strings.Fields(line) {
			stems = appendNew(stems, stem(w))
		}
		for _, s := range stems {
			for _, other := range stems {
				if other != s {
					groups[s] = appendNew(groups[s], other)
				}
			}
		}
	}
	return groups
})

// appendNew appends s unless the list has it.
func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}
