import type { Context } from 'koa'
import { readWith } from '../../base/api/read-with.ts'
import { DONE } from '../../base/api/route.ts'
import { draftTarget, solutionTarget, versionTarget } from '../../base/api/targets.ts'
import { isText } from '../../base/bundles/compare-versions.ts'
import { explainUpload } from '../../base/bundles/explain-findings.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Supervisor } from '../../runtime/supervisor.ts'
import type { Audit } from '../access/audit.ts'
import { type AdminRoute, route } from '../access/route.ts'
import { sayWho } from '../solutions/api.ts'
import type { SolutionStore } from '../solutions/solution-store.ts'
import type { Uploads } from '../solutions/upload.ts'
import { Sha256 } from '../solutions/versions-api.ts'
import * as schemas from './api-schemas.ts'
import { createDraft, TEMPLATES } from './create-draft.ts'
import { diffDraft } from './diff-draft.ts'
import type { DraftStore } from './draft-store.ts'
import type { Drafts, ReadFile } from './drafts.ts'
import { expectedContent, expectedFile, IF_MATCH, IF_NONE_MATCH, isKnown } from './if-match.ts'
import { publishDraft, rebaseDraft } from './publish-draft.ts'
import type { TryDraft } from './try-draft.ts'
import { Tried, TryForm } from './try-schemas.ts'
import type { WorkbenchModes } from './workbench-mode.ts'

export type DraftApiParts = {
  readonly drafts: Drafts
  readonly draftStore: DraftStore
  readonly tryDraft: TryDraft
  readonly workbenchModes: WorkbenchModes
  readonly store: SolutionStore
  readonly uploads: Uploads
  readonly supervisor: Supervisor
  readonly audit: Pick<Audit, 'read'>
  readonly limits: Limits
}

type OfSolution = { readonly params: { readonly name: string } }
type OfDraft = { readonly params: { readonly name: string; readonly id: string } }

const WRITE = 'solutions:{name}:write'
const READ = 'solutions:{name}:read'
const KNOWN_FILE = {
  'If-None-Match':
    'the `etag` of your copy of the file, in double quotes; the response is 304 if the file still has this `etag`',
}
const UNCHANGED = { 304: { description: 'the file still has the `etag` in `If-None-Match`' } } as const

const draftOf = ({ params: { name, id } }: OfDraft) => ({ solution: name, id })
const namedDraft = ({ params: { name, id } }: OfDraft) => ({ solution: name, target: draftTarget(id) })

/** API routes for the workbench, for drafts, their files, and the files of versions. */
export function draftRoutes(parts: DraftApiParts): AdminRoute[] {
  return [
    ...listRoutes(parts),
    ...fileRoutes(parts),
    ...renameRoutes(parts),
    ...checkRoutes(parts),
    ...tryRoutes(parts),
    ...publishRoutes(parts),
    ...versionFileRoutes(parts),
  ]
}

function listRoutes({ drafts, draftStore, workbenchModes, store, limits }: DraftApiParts): AdminRoute[] {
  return [
    route(
      'GET /solutions/:name/drafts',
      {
        summary: 'List the drafts of a solution, most recently changed first. The solution does not have to exist yet',
        right: WRITE,
        before: ({ params }: OfSolution) => workbenchModes.needRead(params.name),
        answers: { 200: schemas.Drafts },
      },
      async ({ params: { name }, who }) => {
        const mode = await workbenchModes.of(name)
        return {
          items: await drafts.list(name, who.name),
          mode: mode === 'edit' ? mode : 'read',
          limit: limits.DRAFTS,
          active: await drafts.active(name),
          templates: [...TEMPLATES],
        }
      },
    ),
    route(
      'POST /solutions/:name/drafts',
      {
        summary: 'Create a draft from a version or a template. The solution does not have to exist yet',
        right: WRITE,
        act: 'draft-create',
        names: ({ params: { name } }: OfSolution) => ({ solution: name, target: solutionTarget(name) }),
        before: ({ params }: OfSolution) => workbenchModes.needEdit(params.name),
        body: schemas.DraftForm,
        answers: { 201: schemas.DraftWithFiles },
      },
      async ({ params: { name }, body, who, names, ctx }) => {
        const { id } = await createDraft({ solution: name, owner: who.name, ...body }, { drafts: draftStore, store })
        names.target = draftTarget(id)
        ctx.set('Location', `/admin/api/solutions/${name}/drafts/${id}`)
        return drafts.show({ solution: name, id }, who.name)
      },
    ),
    route(
      'GET /solutions/:name/drafts/:id',
      {
        summary: 'Get a draft with the list of its files',
        right: WRITE,
        before: ({ params }: OfDraft) => workbenchModes.needRead(params.name),
        answers: { 200: schemas.DraftWithFiles },
      },
      (asked) => drafts.show(draftOf(asked), asked.who.name),
    ),
    route(
      'DELETE /solutions/:name/drafts/:id',
      {
        summary: 'Discard a draft',
        right: WRITE,
        act: 'draft-discard',
        names: namedDraft,
        before: ({ params }: OfDraft) => workbenchModes.needEdit(params.name),
        answers: DONE,
      },
      ({ params: { name, id } }) => draftStore.remove(name, id),
    ),
  ]
}

function fileRoutes({ drafts, workbenchModes, supervisor, limits }: DraftApiParts): AdminRoute[] {
  const before = ({ params }: OfDraft) => workbenchModes.needEdit(params.name)
  return [
    route(
      'GET /solutions/:name/drafts/:id/files/*path',
      {
        summary: 'Get a file of a draft, of its base or of the active version',
        right: WRITE,
        before: ({ params }: OfDraft) => workbenchModes.needRead(params.name),
        query: schemas.FileQuery,
        headers: KNOWN_FILE,
        answers: { 200: schemas.DraftFile, ...UNCHANGED },
      },
      async (asked) => {
        const file = await drafts.file(draftOf(asked), asked.params.path, asked.query.of)
        return { ...shownFile(asked.ctx, file), revision: file.revision }
      },
    ),
    route(
      'PUT /solutions/:name/drafts/:id/files/*path',
      {
        summary:
          'Save a file in a draft. If the file already has this content, the request succeeds even if the `etag` in If-Match is outdated',
        right: WRITE,
        before: async (asked) => {
          await before(asked)
          const most = savedBody(limits)
          const bytes = asked.ctx.request.length ?? most
          if (bytes > most) throw tooLarge(asked.params.path, limits)
          supervisor.needRoom(bytes)
        },
        headers: { ...IF_MATCH, ...IF_NONE_MATCH },
        body: schemas.FileForm,
        bodyLimit: savedBody,
        answers: { 200: schemas.SavedFile, 201: schemas.SavedFile },
      },
      async (asked) => {
        const { body, ctx, params } = asked
        const expected = expectedFile(ctx)
        const content = 'text' in body ? Buffer.from(body.text) : Buffer.from(body.base64, 'base64')
        if (content.length > limits.BUNDLE_SIZE) throw tooLarge(params.path, limits)
        const saved = await drafts.editor.write(draftOf(asked), params.path, content, expected)
        ctx.status = expected === null ? 201 : 200
        ctx.set('ETag', `"${saved.etag}"`)
        return saved
      },
    ),
    route(
      'DELETE /solutions/:name/drafts/:id/files/*path',
      {
        summary: 'Delete a file of a draft',
        right: WRITE,
        before,
        headers: IF_MATCH,
        answers: { 200: schemas.RemovedFile },
      },
      async (asked) => {
        const { path } = asked.params
        return { path, revision: await drafts.editor.remove(draftOf(asked), path, expectedContent(asked.ctx)) }
      },
    ),
  ]
}

/** The size of a JSON body that contains a file of `BUNDLE_SIZE` bytes. In base64, the file is a third larger. */
function savedBody({ BUNDLE_SIZE }: Limits): number {
  return Math.ceil(BUNDLE_SIZE / 3) * 4 + '{"base64":""}'.length
}

function tooLarge(path: string, { BUNDLE_SIZE }: Limits): PlatformError {
  const message = `"${path}" is too large to save in a draft: at most ${BUNDLE_SIZE} bytes are allowed.`
  return new PlatformError('ERR_BUNDLE_TOO_LARGE', message, { path, limit: BUNDLE_SIZE })
}

function renameRoutes({ drafts, workbenchModes }: DraftApiParts): AdminRoute[] {
  const before = ({ params }: OfDraft) => workbenchModes.needEdit(params.name)
  return [
    route(
      'POST /solutions/:name/drafts/:id/rename',
      {
        summary: 'Rename a file of a draft',
        right: WRITE,
        before,
        headers: IF_MATCH,
        body: schemas.RenameForm,
        answers: { 200: schemas.SavedFile },
      },
      async (asked) => {
        const renamed = await drafts.editor.rename(draftOf(asked), asked.body, expectedContent(asked.ctx))
        asked.ctx.set('ETag', `"${renamed.etag}"`)
        return renamed
      },
    ),
    route(
      'POST /solutions/:name/drafts/:id/revert',
      {
        summary: 'Restore a file from the draft’s base; a file that is not in the base is deleted',
        right: WRITE,
        before,
        headers: {
          ...IF_MATCH,
          'If-None-Match':
            '`*` if the draft deletes the file; send it instead of If-Match, because a deleted file has no `etag`',
        },
        body: schemas.RevertForm,
        answers: { 200: schemas.RevertedFile },
      },
      async (asked) => {
        const { path } = asked.body
        return { path, ...(await drafts.editor.revert(draftOf(asked), path, expectedFile(asked.ctx))) }
      },
    ),
  ]
}

function checkRoutes(parts: DraftApiParts): AdminRoute[] {
  const { drafts, draftStore, workbenchModes, store } = parts
  const before = ({ params }: OfDraft) => workbenchModes.needRead(params.name)
  return [
    route(
      'POST /solutions/:name/drafts/:id/check',
      {
        summary:
          'Check a draft in the same way as an upload. Uploads are checked first. Requests that are waiting at the same time share one check of the latest files',
        right: WRITE,
        before,
        answers: { 200: schemas.DraftCheck },
      },
      (asked) => drafts.check(draftOf(asked)),
    ),
    route(
      'GET /solutions/:name/drafts/:id/diff',
      {
        summary: 'Compare a draft with its base or the active version',
        right: WRITE,
        before,
        query: schemas.DiffQuery,
        answers: { 200: schemas.DraftDifference },
      },
      (asked) =>
        diffDraft(
          draftOf(asked),
          async ({ base }) => (asked.query.against === 'base' ? base : store.activeSha256(asked.params.name)),
          { drafts: draftStore, versions: drafts.versions, store },
        ),
    ),
    route(
      'GET /solutions/:name/drafts/:id/bundle',
      {
        summary: 'Download a draft as a bundle',
        right: WRITE,
        before,
        answers: { 200: { description: 'a zip', type: 'application/zip' } },
      },
      async (asked) => {
        const { packed, sha256 } = await drafts.bundle(draftOf(asked))
        asked.ctx.type = 'application/zip'
        asked.ctx.attachment(`${asked.params.name}-${sha256.slice(0, 12)}.zip`)
        asked.ctx.set('ETag', `"${sha256}"`)
        return Buffer.from(packed)
      },
    ),
  ]
}

function tryRoutes({ tryDraft, workbenchModes }: DraftApiParts): AdminRoute[] {
  return [
    route(
      'POST /solutions/:name/drafts/:id/try',
      {
        summary:
          'Run a draft’s scripts without access to users, sessions, grants, secrets or the network. The request body contains the responses to the scripts’ HTTP requests',
        right: WRITE,
        act: 'draft-try',
        names: namedDraft,
        before: ({ params }: OfDraft) => workbenchModes.needEdit(params.name),
        body: TryForm,
        answers: { 200: Tried },
      },
      (asked) => tryDraft(draftOf(asked), asked.body),
    ),
  ]
}

function publishRoutes({
  drafts,
  draftStore,
  workbenchModes,
  store,
  uploads,
  audit,
  limits,
}: DraftApiParts): AdminRoute[] {
  const before = ({ params }: OfDraft) => workbenchModes.needEdit(params.name)
  const partsOf = () => ({ drafts: draftStore, versions: drafts.versions, store, uploads })
  return [
    route(
      'POST /solutions/:name/drafts/:id/publish',
      {
        summary: 'Upload a draft as a new version, which becomes active if the version in `over` is still active',
        right: WRITE,
        act: 'draft-publish',
        names: namedDraft,
        before,
        body: schemas.PublishForm,
        answers: { 201: schemas.PublishedDraft },
      },
      async (asked) => {
        const { uploaded, revision } = await publishDraft(draftOf(asked), asked.body, partsOf(), (packed, upload) =>
          explainUpload(packed, limits, () => upload().catch((error: unknown) => sayWho(audit, error))),
        )
        asked.names.target = versionTarget(uploaded.sha256)
        asked.ctx.status = 201
        asked.ctx.set('Location', `/admin/api/solutions/${asked.params.name}`)
        return { ...uploaded, revision }
      },
    ),
    route(
      'POST /solutions/:name/drafts/:id/rebase',
      {
        summary:
          'Base a draft on another version. If a file changed both in the draft and in that version, `choices` must say which copy to keep',
        right: WRITE,
        before,
        body: schemas.RebaseForm,
        answers: { 200: schemas.RebasedDraft },
      },
      async (asked) => {
        const { onto, choices } = asked.body
        const { draft, ...rebased } = await rebaseDraft(draftOf(asked), onto, choices, partsOf())
        return { ...rebased, base: await drafts.version(draft.solution, draft.base), revision: draft.revision }
      },
    ),
  ]
}

function versionFileRoutes({ drafts, workbenchModes }: DraftApiParts): AdminRoute[] {
  const before = ({ params }: OfSolution) => workbenchModes.needRead(params.name)
  return [
    route(
      'GET /solutions/:name/versions/:sha256/files',
      { summary: 'List the files of a version', right: READ, before, answers: { 200: schemas.VersionFileList } },
      async ({ params: { name, sha256: given } }) => {
        const sha256 = readWith(Sha256, given)
        const files = await drafts.versions.list(name, sha256)
        return { sha256, files: [...files].map(([path, facts]) => ({ path, ...facts })) }
      },
    ),
    route(
      'GET /solutions/:name/versions/:sha256/files/*path',
      {
        summary: 'Get a file of a version',
        right: READ,
        before,
        headers: KNOWN_FILE,
        answers: { 200: schemas.VersionFile, ...UNCHANGED },
      },
      async ({ params: { name, sha256, path }, ctx }) =>
        shownFile(ctx, await drafts.versionFile(name, readWith(Sha256, sha256), path)),
    ),
  ]
}

/** Sends a file as JSON, so that browsers never open it as a document. */
function shownFile(ctx: Context, { path, etag, bytes, content }: ReadFile) {
  ctx.set('ETag', `"${etag}"`)
  if (isKnown(ctx, etag)) ctx.status = 304
  const buffer = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const isShownAsText = isText(content)
  return {
    path,
    etag,
    bytes,
    text: isShownAsText ? buffer.toString('utf8') : null,
    base64: isShownAsText ? null : buffer.toString('base64'),
  }
}
