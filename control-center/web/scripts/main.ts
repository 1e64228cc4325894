import { takeOverForms } from '../../../host/web/admin/api-forms.ts'
import { takeOverCopying } from '../../../host/web/admin/copy.ts'
import { takeOverDownloads } from '../../../host/web/admin/download.ts'
import { showWhatWasSaid } from '../../../host/web/admin/said.ts'
import { showResults } from '../../../host/web/admin/show-result.ts'

showWhatWasSaid()
takeOverForms()
takeOverCopying()
takeOverDownloads()
showResults()
