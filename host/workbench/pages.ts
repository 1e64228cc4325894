import type Router from '@koa/router'
import type { Context } from 'koa'
import { loginPageLocales } from '../../base/bundles/login-preview.ts'
import { LOGIN_STATE_NAMES, loginStatesOf } from '../../base/bundles/login-states.ts'
import { requireDataRequest } from '../../base/http/fetch-metadata.ts'
import { stateOf } from '../../base/http/request.ts'
import type { Sites } from '../../base/http/sites.ts'
import { SolutionName } from '../../base/protocol/protocol.ts'
import { PLATFORM_TEXTS } from '../../base/web/texts.ts'
import { LOGIN_TEMPLATE, MANIFEST } from '../../runtime/bundle/layout.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import { hasScope, needScope } from '../access/actor.ts'
import { needPageSession, pageSessionOf } from '../access/admit-page-session.ts'
import type { PageSession } from '../access/page-sessions.ts'
import type { Drafts, ShownDraftWithFiles } from '../drafts/drafts.ts'
import type { WorkbenchMode, WorkbenchModes } from '../drafts/workbench-mode.ts'
import { localeOf, type PageRouter, type PageText, type ShownPage } from '../pages/page.ts'
import { addressWith, queryText } from '../pages/page-query.ts'
import { workbenchPath } from '../pages/workbench-links.ts'
import { type SolutionHeadParts, shownSolution } from '../solutions/page-head.ts'
import { addWorkbenchAssets, workbenchAssets } from './assets.ts'
import { addDraftPreviewRoutes, type DraftPreviewParts, draftPreviewAddress } from './preview.ts'

export type WorkbenchPageParts = SolutionHeadParts &
  DraftPreviewParts & {
    readonly drafts: Drafts
    readonly workbenchModes: WorkbenchModes
    readonly sites: Pick<Sites, 'originForAdmin'>
    readonly limits: Pick<Limits, 'BUNDLE_SIZE'>
  }

/** Files with more bytes are not shown if scripts are disabled. */
const MOST_SHOWN = 1_000_000

/**
 * Adds the workbench: the list of a solution's drafts, and the page for editing one. If scripts are disabled, or if the
 * user may only read, the pages show the files as text.
 */
export function addWorkbenchPages(pages: PageRouter, router: Router, parts: WorkbenchPageParts): void {
  const { drafts } = parts

  pages.get(
    '/solutions/:name/workbench',
    async (ctx, text) => {
      const place = await placeOf(ctx, parts)
      const id = queryText(ctx, 'draft')
      if (id === '' || !place.mayWrite) return showList(ctx, text, place, parts)
      const draft = await drafts.show({ solution: place.name, id }, place.session.name)
      const isAsked = draft.isOwn || queryText(ctx, 'of') === draft.owner
      return isAsked ? showDraft(ctx, text, place, draft, parts) : showForeign(text, place, draft)
    },
    'solutions:{name}:read',
  )

  pages.part(
    '/solutions/:name/workbench/:draft/head.json',
    async (ctx, text) => {
      const place = await placeOf(ctx, parts)
      const draft = await drafts.show(
        { solution: place.name, id: (ctx.params as { draft: string }).draft },
        place.session.name,
      )
      return { template: 'workbench-draft-head', heading: headingOf(text, place), model: headOf(place, draft) }
    },
    'solutions:{name}:write',
  )

  addWorkbenchAssets(router)
  addDraftPreviewRoutes(router, parts)

  /** A workbench page requests this after the user has signed in again in another tab. */
  router.get('/workbench/session.json', async (ctx) => {
    requireDataRequest(ctx)
    const session = pageSessionOf(ctx)
    if (session === null)
      throw new PlatformError('ERR_UNAUTHENTICATED', 'You are signed out. Sign in to the admin pages.')
    ctx.body = { csrfToken: session.csrfToken }
  })

  router.get('/solutions/:name/workbench/:draft/preview.json', async (ctx) => {
    requireDataRequest(ctx)
    const { name, draft: id } = ctx.params as { name: string; draft: string }
    const session = pageSessionOf(ctx)
    if (session === null)
      throw new PlatformError('ERR_UNAUTHENTICATED', 'You are signed out. Sign in to the admin pages.')
    needScope(session, `solutions:${name}`, 'write', false)
    await parts.workbenchModes.needRead(name)
    const { prepared, revision } = await drafts.prepare({ solution: name, id })
    ctx.body = {
      address: draftPreviewAddress({ name, id, revision }, parts),
      revision,
      locales: loginPageLocales(prepared),
      states: loginStatesOf(prepared.manifest.authenticator),
    }
  })
}

type Place = {
  readonly name: string
  readonly session: PageSession
  readonly mode: Exclude<WorkbenchMode, 'off'>
  /** Whether the user has the scope that the API requires for drafts. */
  readonly mayWrite: boolean
  /** Null for a solution that exists only as a draft. */
  readonly solution: ReturnType<typeof shownSolution> | null
}

/** @throws ERR_NOT_FOUND, ERR_SOLUTION_NOT_FOUND */
async function placeOf(ctx: Context, { store, supervisor, workbenchModes }: WorkbenchPageParts): Promise<Place> {
  const { name } = ctx.params as { name: string }
  await workbenchModes.needRead(name)
  const session = needPageSession(ctx)
  const found = (await store.list()).find((one) => one.name === name) ?? null
  const mayWrite = hasScope(session, `solutions:${name}`, 'write')
  const mode = mayWrite && (await workbenchModes.of(name)) === 'edit' ? 'edit' : 'read'
  if (found === null && !(mode === 'edit' && SolutionName.safeParse(name).success)) {
    throw new PlatformError('ERR_SOLUTION_NOT_FOUND', `There is no solution "${name}".`)
  }
  return { name, session, mode, mayWrite, solution: found === null ? null : shownSolution(found, supervisor) }
}

/** The file and line in the page's query. */
function wantedIn(ctx: Context) {
  const line = Number.parseInt(queryText(ctx, 'line'), 10)
  return { file: queryText(ctx, 'file'), line: line > 0 ? line : undefined }
}

async function showList(
  ctx: Context,
  text: PageText,
  { name, session, mode, mayWrite, solution }: Place,
  { drafts }: WorkbenchPageParts,
): Promise<ShownPage> {
  const wanted = wantedIn(ctx)
  const own = mayWrite ? await drafts.list(name, session.name) : []
  const active = await drafts.active(name)
  const files = active === null ? [] : [...(await drafts.versions.list(name, active.sha256)).keys()]
  const shown = active !== null && files.includes(wanted.file) ? wanted.file : null
  const model = {
    name,
    solution,
    mode,
    active,
    files,
    fileHref: (file: string) => addressWith(workbenchPath(name), { file }),
    shown: shown === null || active === null ? null : textOf(await drafts.versionFile(name, active.sha256, shown)),
    drafts: own.map((draft) => ({ ...draft, href: addressWith(workbenchPath(name), { draft: draft.id, ...wanted }) })),
    /** Whether the user wants to edit the login page, but the active version has none. */
    lacksLoginPage: wanted.file === LOGIN_TEMPLATE && !files.includes(LOGIN_TEMPLATE),
    /** The URL of a new draft. The page's script inserts the draft's id. */
    created: addressWith(workbenchPath(name), { draft: 'ID', ...wanted }).replace('draft=ID', 'draft={id}'),
  }
  const heading = headingOf(text, { name, solution })
  return { template: 'workbench-drafts', heading, part: 'solutions', model }
}

/** Shows a page with a link to another user's draft, instead of the draft, so that nobody publishes it by mistake. */
function showForeign(text: PageText, { name, solution }: Place, draft: ShownDraftWithFiles): ShownPage {
  const { id, owner } = draft
  const model = {
    name,
    solution,
    draft,
    href: addressWith(workbenchPath(name), { draft: id, of: owner }),
    back: workbenchPath(name),
  }
  const heading = headingOf(text, { name, solution })
  return { template: 'workbench-foreign', heading, part: 'solutions', model }
}

async function showDraft(
  ctx: Context,
  text: PageText,
  place: Place,
  draft: ShownDraftWithFiles,
  { drafts, sites, limits }: WorkbenchPageParts,
): Promise<ShownPage> {
  const { name } = place
  const { file, line } = wantedIn(ctx)
  const parameters = { draft: draft.id, ...(draft.isOwn ? {} : { of: draft.owner }) }
  const page = addressWith(workbenchPath(name), parameters)
  const path = firstFile(draft, file)
  const api = `/admin/api/solutions/${name}/drafts/${draft.id}`
  const assets = workbenchAssets()
  const data = {
    solution: name,
    draft: draft.id,
    api,
    page,
    head: `${workbenchPath(name)}/${draft.id}/head.json`,
    session: '/admin/workbench/session.json',
    completions: assets.completions,
    preview: `${workbenchPath(name)}/${draft.id}/preview.json`,
    most: limits.BUNDLE_SIZE,
    address: `${sites.originForAdmin(name, stateOf(ctx).client)}/solution/${name}/`,
    file: path,
    line: path === file ? (line ?? null) : null,
    texts: textsFor(localeOf(ctx)),
  }
  const model = {
    ...headOf(place, draft),
    api,
    files: draft.files.map((one) => ({
      ...one,
      href: addressWith(workbenchPath(name), { ...parameters, file: one.path }),
    })),
    path,
    shown: path === null ? null : textOf(await drafts.file({ solution: name, id: draft.id }, path, 'draft')),
    states: LOGIN_STATE_NAMES,
    importMap: assets.importMap,
    script: assets.script,
    data: jsonForPage(data),
  }
  const heading = headingOf(text, place)
  return { template: 'workbench', heading, part: 'solutions', model, frames: true }
}

/** The data for the head of a draft's page. It changes when the draft is published or rebased. */
function headOf({ name, solution, mode }: Place, draft: ShownDraftWithFiles) {
  return { name, solution, mode, draft, back: workbenchPath(name), owner: draft.isOwn ? null : draft.owner }
}

function headingOf(text: PageText, { name, solution }: Pick<Place, 'name' | 'solution'>): string {
  return `${text('admin.tab.workbench')} · ${solution?.title ?? name}`
}

/** Returns the path of the file to open first; null if the draft has no files. */
function firstFile({ files }: ShownDraftWithFiles, wanted: string): string | null {
  const listed = (path: string) => files.find((one) => one.path === path)
  const login = listed(LOGIN_TEMPLATE)
  // A draft that adds or changes the login page was most likely created for that page.
  const changedLogin = login?.change === 'none' ? undefined : login
  return (listed(wanted) ?? changedLogin ?? listed('globals.js') ?? listed(MANIFEST) ?? files[0])?.path ?? null
}

function textOf({ path, bytes, content }: { path: string; bytes: number; content: Uint8Array }) {
  const text = bytes > MOST_SHOWN ? null : Buffer.from(content).toString('utf8')
  return { path, bytes, text: text === null || text.includes('\0') || text.includes('\ufffd') ? null : text }
}

/** The texts that the page's script shows, by key, in the user's language. */
function textsFor(locale: string): Readonly<Record<string, string>> {
  const texts = PLATFORM_TEXTS.all.get(PLATFORM_TEXTS.language(locale)) ?? new Map<string, string>()
  return Object.fromEntries([...texts].filter(([key]) => key.startsWith('admin.workbench.')))
}

/** Serializes data as JSON for a script element. Escapes `<`, so the JSON can't close the element. */
function jsonForPage(data: object): string {
  return JSON.stringify(data).replace(/</g, '\\u003c')
}
