import type Router from '@koa/router'
import { PlatformError } from '../../runtime/errors.ts'
import type { CloudLogin } from '../cloud/login/cloud-login.ts'
import type { Settings } from '../config/settings.ts'
import type { Drafts } from '../drafts/drafts.ts'
import { lookOf } from '../login/login-page.ts'
import { allowInPreview, requirePreviewFrame, sendLoginPreview } from '../login-pages/preview-pages.ts'
import type { PreviewTickets } from '../login-pages/preview-tickets.ts'
import { workbenchPath } from '../pages/workbench-links.ts'
import { sendMediaContent } from '../solutions/media.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'

export type DraftPreviewParts = {
  readonly drafts: Pick<Drafts, 'prepare' | 'file'>
  readonly store: SolutionStore
  readonly previewTickets: PreviewTickets
  readonly cloudLogin: Pick<CloudLogin, 'pageOf'> | null
  readonly settings: Pick<Settings, 'passwordHelp'>
}

type DraftRevision = { readonly name: string; readonly id: string; readonly revision: number }

/** The subject of a preview's ticket, which is valid for one revision of one draft. */
const subjectOf = ({ name, id, revision }: DraftRevision) => `${name}/${id}/${revision}`

const FOLDER = '/solutions/:name/workbench/:draft/preview/:revision/:ticket'

/** The URL of the preview's page, without a query. */
export function draftPreviewAddress(
  of: DraftRevision,
  { previewTickets }: Pick<DraftPreviewParts, 'previewTickets'>,
): string {
  const ticket = previewTickets.issue(subjectOf(of))
  return `${workbenchPath(of.name)}/${of.id}/preview/${of.revision}/${ticket}/index.html`
}

/** Adds the routes for the preview of a draft's login page. */
export function addDraftPreviewRoutes(router: Router, parts: DraftPreviewParts): void {
  const { drafts, previewTickets, settings } = parts

  router.get(`${FOLDER}/index.html`, async (ctx) => {
    const { of, folder } = needTicket(ctx.params)
    requirePreviewFrame(ctx, of.name, 'write')
    const { prepared, revision } = await drafts.prepare({ solution: of.name, id: of.id })
    if (revision !== of.revision) throw changed()
    const look = lookOf({ ...prepared, title: prepared.manifest.title }, null, settings.passwordHelp)
    sendLoginPreview(ctx, look, folder)
  })

  router.get(`${FOLDER}/media/*path`, async (ctx) => {
    const { of } = needTicket(ctx.params)
    const { path } = ctx.params as { path: string }
    const file = await drafts.file({ solution: of.name, id: of.id }, `media/${path}`, 'draft')
    sendMediaContent(ctx, path, file)
    allowInPreview(ctx)
  })

  function needTicket(params: Readonly<Record<string, string>>) {
    const { name = '', draft: id = '', revision = '', ticket = '' } = params
    const of = { name, id, revision: Number.parseInt(revision, 10) }
    if (!previewTickets.isFor(subjectOf(of), ticket)) throw changed()
    return { of, folder: `${workbenchPath(name)}/${id}/preview/${of.revision}/${ticket}/` }
  }
}

function changed(): PlatformError {
  return new PlatformError(
    'ERR_NOT_FOUND',
    'The draft has changed since this preview was opened. Open the preview again.',
  )
}
