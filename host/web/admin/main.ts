import { takeOverForms } from './api-forms.ts'
import { takeOverCopying } from './copy.ts'
import { takeOverDownloads } from './download.ts'
import { takeOverGrants } from './grants.ts'
import { followLiveLog } from './live-log.ts'
import { keepPageLive } from './live-page.ts'
import { takeOverLoginPreview } from './login-preview.ts'
import { takeOverNewPasswords } from './new-password.ts'
import { takeOverOAuthForm } from './oauth-form.ts'
import { takeOverPermissions } from './permission-rows.ts'
import { showWhatWasSaid } from './said.ts'
import { showResults } from './show-result.ts'
import { takeOverTokenForm } from './token-form.ts'
import { takeOverUploads } from './upload.ts'
import { takeOverImport } from './users-import.ts'

showWhatWasSaid()
takeOverForms()
takeOverLoginPreview()
takeOverOAuthForm()
takeOverCopying()
takeOverDownloads()
takeOverNewPasswords()
takeOverPermissions()
showResults()
takeOverTokenForm()
takeOverImport()
keepPageLive()
takeOverUploads()
takeOverGrants()
followLiveLog()
