import { takeOverForms } from '../../../base/web/scripts/api-forms.ts'
import { takeOverCheckedLists } from '../../../base/web/scripts/checked-lists.ts'
import { takeOverCopying } from '../../../base/web/scripts/copy.ts'
import { takeOverDownloads } from '../../../base/web/scripts/download.ts'
import { restoreFields } from '../../../base/web/scripts/kept-fields.ts'
import { followLiveLog } from '../../../base/web/scripts/live-log.ts'
import { keepPageLive } from '../../../base/web/scripts/live-page.ts'
import { takeOverLoginPreview } from '../../../base/web/scripts/login-preview.ts'
import { takeOverNewPasswords } from '../../../base/web/scripts/new-password.ts'
import { showWhatWasSaid } from '../../../base/web/scripts/said.ts'
import { takeOverShownPasswords } from '../../../base/web/scripts/show-password.ts'
import { showResults } from '../../../base/web/scripts/show-result.ts'
import { takeOverUploads } from '../../../base/web/scripts/upload.ts'
import { takeOverDirectoryForm } from './directory-form.ts'
import { takeOverDirectoryTest } from './directory-test.ts'
import { takeOverGrants } from './grants.ts'
import { takeOverOAuthForm } from './oauth-form.ts'
import { takeOverPermissions } from './permission-rows.ts'
import { takeOverSettingsFilter } from './settings-filter.ts'
import { takeOverSignInPolicy } from './sign-in-policy.ts'
import { takeOverTokenForm } from './token-form.ts'
import { takeOverImport } from './users-import.ts'

showWhatWasSaid()
takeOverForms()
takeOverLoginPreview()
takeOverOAuthForm()
takeOverCopying()
takeOverDownloads()
takeOverNewPasswords()
takeOverShownPasswords()
takeOverPermissions()
showResults()
takeOverDirectoryForm()
takeOverDirectoryTest()
takeOverTokenForm()
takeOverSettingsFilter()
takeOverImport()
takeOverCheckedLists()
takeOverSignInPolicy()
keepPageLive()
takeOverUploads()
takeOverGrants()
followLiveLog()
restoreFields()
