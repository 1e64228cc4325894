import { takeOverForms } from '../../../host/web/admin/api-forms.ts'
import { takeOverCopying } from '../../../host/web/admin/copy.ts'
import { takeOverDownloads } from '../../../host/web/admin/download.ts'
import { followLiveLog } from '../../../host/web/admin/live-log.ts'
import { keepPageLive } from '../../../host/web/admin/live-page.ts'
import { takeOverNewPasswords } from '../../../host/web/admin/new-password.ts'
import { showWhatWasSaid } from '../../../host/web/admin/said.ts'
import { showResults } from '../../../host/web/admin/show-result.ts'
import { takeOverUploads } from '../../../host/web/admin/upload.ts'
import { drawCharts } from './charts.ts'
import { takeOverCheckedLists } from './checked-lists.ts'
import { takeOverDialogs } from './docker-dialogs.ts'
import { takeOverLoginDesigner } from './login-designer.ts'
import { takeOverMenus } from './menus.ts'
import { followRunLog, goToStartedRuns } from './run-log.ts'
import { sendFragment } from './send-fragment.ts'

showWhatWasSaid()
takeOverMenus()
takeOverDialogs()
takeOverUploads()
goToStartedRuns()
followRunLog()
takeOverForms()
takeOverCopying()
takeOverDownloads()
showResults()
drawCharts()
followLiveLog()
takeOverCheckedLists()
takeOverLoginDesigner()
takeOverNewPasswords()
sendFragment()
keepPageLive()
