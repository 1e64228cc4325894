import { takeOverForms } from '../../../base/web/scripts/api-forms.ts'
import { takeOverCheckedLists } from '../../../base/web/scripts/checked-lists.ts'
import { takeOverCopying } from '../../../base/web/scripts/copy.ts'
import { takeOverDownloads } from '../../../base/web/scripts/download.ts'
import { restoreFields } from '../../../base/web/scripts/kept-fields.ts'
import { sendFragment } from '../../../base/web/scripts/links/send-fragment.ts'
import { followLiveLog } from '../../../base/web/scripts/live-log.ts'
import { keepPageLive } from '../../../base/web/scripts/live-page.ts'
import { takeOverNewPasswords } from '../../../base/web/scripts/new-password.ts'
import { showWhatWasSaid } from '../../../base/web/scripts/said.ts'
import { takeOverShownPasswords } from '../../../base/web/scripts/show-password.ts'
import { showResults } from '../../../base/web/scripts/show-result.ts'
import { takeOverUploads } from '../../../base/web/scripts/upload.ts'
import { takeOverDesiredSettings } from './desired-settings.ts'
import { takeOverDialogs } from './docker-dialogs.ts'
import { takeOverLoginDesigner } from './login-designer.ts'
import { takeOverMenus } from './menus.ts'
import { takeOverRolloutOrder } from './rollout-order.ts'
import { followRunLog, goToStartedRuns } from './run-log.ts'
import { takeOverTenantValues } from './tenant-values.ts'

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
followLiveLog()
takeOverCheckedLists()
takeOverRolloutOrder()
takeOverTenantValues()
takeOverDesiredSettings()
takeOverLoginDesigner()
takeOverNewPasswords()
takeOverShownPasswords()
sendFragment()
keepPageLive()
restoreFields()
