package search

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// translationWeight is what a word counts for that was asked in another language:
// behind tools described in the language of the query, before everything else.
const translationWeight = 0.7

// glossaryText gives everyday words of Chinese, Japanese and Korean the English
// word that names and descriptions of tools would have. It is no dictionary: it is
// there so that a question in these languages about English tools is not without
// any answer.
const glossaryText = `
create 创建 新建 建立 創建 新增 作成 作る 作って 만들 생성
add 添加 加入 追加 추가
delete 删 刪 删除 刪除 移除 清除 削除 消す 消して 삭제 지우
list 列出 列表 清单 清單 一覧 リスト 목록 나열
show 显示 顯示 表示 見せて 보여
get 获取 取得 獲取 가져오
search 查 找 搜 搜索 搜寻 搜尋 查找 寻找 查询 查詢 検索 探す 探して 검색 찾
update 更新 修改 更改 変更 갱신 수정 변경
edit 编辑 編輯 編集 편집
send 发送 發送 发给 寄送 送信 送る 送って 보내 전송
read 读 讀 读取 讀取 阅读 閱讀 読む 読み込 読んで 읽
write 写 寫 写入 寫入 书写 書き込 書く 쓰기
save 保存 儲存 存储 저장
copy 复制 複製 拷贝 コピー 복사
move 移动 移動 이동
rename 重命名 改名 名前変更 이름
merge 合并 合併 マージ 병합
upload 上传 上傳 アップロード 업로드
download 下载 下載 ダウンロード 다운로드
open 打开 打開 開く 開いて 열기
close 关闭 關閉 閉じる 닫기
run 运行 運行 执行 執行 実行 실행
start 启动 啟動 起動 시작
stop 停止 停止 중지 정지
restart 重启 重啟 再起動 재시작
deploy 部署 デプロイ 배포
install 安装 安裝 インストール 설치
convert 转换 轉換 変換 변환
translate 翻译 翻譯 翻訳 번역
calculate 计算 計算 계산
analyze 分析 解析 분석
compare 比较 比較 비교
check 检查 檢查 確認 チェック 확인
test 测试 測試 テスト 테스트
summarize 总结 總結 摘要 要約 요약
explain 解释 解釋 説明 설명
book 预订 預訂 预约 予約 예약
buy 买 買 购买 購買 購入 구매
pay 支付 付款 支払 결제
schedule 安排 日程 行程 スケジュール 予定 일정
file 文件 檔案 文档 ファイル 파일
folder 文件夹 资料夹 資料夾 目录 目錄 フォルダ ディレクトリ 폴더
document 文档 文檔 文書 ドキュメント 문서
image 图片 圖片 图像 圖像 画像 이미지 사진
photo 照片 写真
video 视频 視頻 影片 動画 ビデオ 동영상
music 音乐 音樂 音楽 음악
song 歌曲 歌 노래
message 消息 讯息 訊息 短信 メッセージ 메시지
email 邮件 郵件 电子邮件 電子郵件 メール 이메일 메일
calendar 日历 日曆 カレンダー 캘린더 달력
meeting 会议 會議 会議 ミーティング 회의
event 活动 事件 活動 イベント 이벤트
task 任务 任務 タスク 작업 할일
reminder 提醒 リマインダー 알림
note 笔记 筆記 备忘 メモ ノート 메모
issue 问题 問題 议题 課題 イシュー 이슈
comment 评论 評論 コメント 댓글
repository 仓库 倉庫 代码库 リポジトリ 저장소
branch 分支 ブランチ 브랜치
commit 提交 コミット 커밋
code 代码 代碼 程式碼 コード 코드
database 数据库 資料庫 データベース 데이터베이스
table 表格 数据表 テーブル 테이블 표
query 查询 查詢 クエリ 쿼리
data 数据 數據 資料 データ 데이터
information 信息 資訊 情報 정보
log 日志 日誌 ログ 로그
error 错误 錯誤 エラー 오류 에러
server 服务器 伺服器 サーバー サーバ 서버
container 容器 コンテナ 컨테이너
user 用户 用戶 使用者 ユーザー ユーザ 사용자
team 团队 團隊 チーム 팀
customer 客户 客戶 顧客 고객
contact 联系人 聯絡人 連絡先 연락처
order 订单 訂單 注文 주문
invoice 发票 發票 請求書 송장
price 价格 價格 価格 値段 가격
currency 货币 貨幣 汇率 匯率 通貨 為替 환율 통화
stock 股票 股价 股價 株価 주식 주가
weather 天气 天氣 天気 날씨
forecast 预报 預報 予報 예보
temperature 温度 气温 氣溫 気温 온도 기온
map 地图 地圖 地図 지도
location 位置 地点 地點 場所 위치 장소
address 地址 住所 주소
route 路线 路線 経路 ルート 경로
time 时间 時間 時刻 시간
date 日期 日付 날짜
news 新闻 新聞 ニュース 뉴스
web 网络 網路 ウェブ 웹
page 网页 網頁 页面 頁面 ページ 페이지
link 链接 連結 リンク 링크
flight 航班 机票 機票 飛行機 フライト 항공편 비행기
train 火车 火車 列车 電車 列車 기차
hotel 酒店 旅馆 飯店 ホテル 호텔
restaurant 餐厅 餐廳 レストラン 식당
recipe 食谱 食譜 レシピ 레시피
travel 旅行 旅游 旅遊 여행
movie 电影 電影 映画 영화
game 游戏 遊戲 ゲーム 게임
chart 图表 圖表 グラフ チャート 차트
report 报告 報告 レポート 보고서
permission 权限 權限 権限 권한
password 密码 密碼 パスワード 비밀번호
screenshot 截图 截圖 スクリーンショット 스크린샷
`

// glossary maps a foreign word to English ones.
var glossary = sync.OnceValue(func() map[string][]string {
	words := map[string][]string{}
	for line := range strings.Lines(glossaryText) {
		fields := strings.Fields(line)
		for _, foreign := range fields[min(1, len(fields)):] {
			words[foreign] = appendNew(words[foreign], fields[0])
		}
	}
	return words
})

// longestForeign is the length of the glossary's longest word in characters.
var longestForeign = sync.OnceValue(func() int {
	longest := 0
	for w := range glossary() {
		longest = max(longest, utf8.RuneCountInString(w))
	}
	return longest
})

// translate calls emit with the English of every word of the glossary in a run of
// an unspaced script: the longest at each place, none within another.
func translate(run string, emit func(english string)) {
	for run != "" {
		step := 0
		for end, n := 0, 0; n < longestForeign() && end < len(run); n++ {
			_, size := utf8.DecodeRuneInString(run[end:])
			end += size
			if _, ok := glossary()[run[:end]]; ok {
				step = end
			}
		}
		for _, english := range glossary()[run[:step]] {
			emit(english)
		}
		if step == 0 {
			_, step = utf8.DecodeRuneInString(run)
		}
		run = run[step:]
	}
}
