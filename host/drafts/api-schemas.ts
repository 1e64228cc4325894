import { WARNING_CODES } from '../../runtime/bundle/faults.ts'
import { ManifestSchema } from '../../runtime/bundle/manifest.ts'
import { z } from '../../runtime/zod.ts'
import { Uploaded } from '../solutions/api.ts'
import { Difference, Sha256 } from '../solutions/versions-api.ts'
import { TEMPLATES } from './create-draft.ts'

const Etag = z.string().max(100)
const Path = z.string().max(300)
export const Version = z.object({ sha256: Sha256, version: z.string() })

const DRAFT = {
  id: z.string(),
  solution: z.string(),
  owner: z.string().describe('who created the draft: `admin` or `token:{id}`'),
  isOwn: z.boolean().describe('whether the caller created the draft'),
  base: Version.nullable().describe('the version that the draft is based on; null if the draft is for a new solution'),
  createdAt: z.int(),
  changedAt: z.int(),
  expiresAt: z.int(),
  revision: z.int().describe('a number that increases with each change'),
  changedFiles: z.int(),
}
const Draft = z.object(DRAFT).meta({ id: 'Draft' })
const FileFacts = { path: z.string(), etag: Etag, bytes: z.int() }

export const Drafts = z.object({
  items: z.array(Draft),
  mode: z.enum(['edit', 'read']),
  limit: z.int().describe('maximum number of drafts per solution'),
  active: Version.nullable(),
  templates: z.array(z.enum(TEMPLATES)),
})
export const DraftWithFiles = z
  .object({
    ...DRAFT,
    files: z.array(z.object({ ...FileFacts, change: z.enum(['none', 'added', 'changed']) })),
    removed: z.array(z.string()).describe('files in the base version that the draft deletes'),
    active: Version.nullable(),
    nextVersion: z.string().describe('the suggested version number for publishing the draft'),
  })
  .meta({ id: 'DraftWithFiles' })
export const DraftForm = z
  .strictObject({
    base: Sha256.optional().describe('the SHA-256 of the version to base the draft on'),
    template: z
      .enum(TEMPLATES)
      .optional()
      .describe('`solution`: a small new solution; `login-page`: the default login page, added to the base'),
  })
  .refine(({ base, template }) => base !== undefined || template !== undefined, 'must have "base" or "template"')
  .meta({ id: 'DraftForm' })

export const FileQuery = z.strictObject({
  of: z
    .enum(['draft', 'base', 'active'])
    .default('draft')
    .describe('where to read the file: in the draft, in its base or in the active version'),
})
const CONTENT = {
  text: z.string().nullable().describe('the content as text; null if the file is not UTF-8 text'),
  base64: z.string().nullable().describe('the content as base64 if the file is not UTF-8 text; otherwise null'),
}
export const VersionFile = z.object({ ...FileFacts, ...CONTENT }).meta({ id: 'VersionFile' })
export const VersionFileList = z.object({ sha256: Sha256, files: z.array(z.object(FileFacts)) })
export const DraftFile = z.object({ ...FileFacts, ...CONTENT, revision: z.int() }).meta({ id: 'DraftFile' })
export const SavedFile = z.object({ ...FileFacts, revision: z.int() }).meta({ id: 'SavedFile' })
export const RemovedFile = z.object({ path: z.string(), revision: z.int() })
export const RevertedFile = z.object({ path: z.string(), etag: Etag.nullable(), revision: z.int() })
export const FileForm = z
  .union([
    z.strictObject({ text: z.string() }),
    z.strictObject({ base64: z.string().refine(isBase64, 'must be base64') }),
  ])
  .meta({ id: 'FileForm' })
export const RenameForm = z.strictObject({ from: Path, to: Path }).meta({ id: 'RenameForm' })
export const RevertForm = z.strictObject({ path: Path }).meta({ id: 'RevertForm' })

const Finding = z.object({
  file: z.string(),
  line: z.int().optional(),
  column: z.int().optional(),
  code: z.string(),
  message: z.string(),
  source: z.string().nullable().describe('the source line that the message refers to'),
  advice: z.string().nullable().describe('how to fix the error'),
})
export const DraftCheck = z
  .object({
    revision: z.int(),
    sha256: Sha256.describe('SHA-256 of the bundle created from the draft'),
    faults: z.array(Finding),
    warnings: z.array(Finding.extend({ code: z.enum(Object.keys(WARNING_CODES)) })),
  })
  .meta({ id: 'DraftCheck' })

export const DiffQuery = z.strictObject({ against: z.enum(['base', 'active']).default('active') })
export const DraftDifference = Difference.extend({
  from: Sha256.nullable(),
  revision: z.int(),
  manifest: Difference.shape.manifest
    .nullable()
    .describe('the differences between the manifests; null if one of them has errors'),
}).meta({ id: 'DraftDifference' })

export const PublishForm = z
  .strictObject({
    over: Sha256.nullable().describe(
      'the SHA-256 of the version that must still be active; null if there must be no active version',
    ),
    version: ManifestSchema.shape.version,
  })
  .meta({ id: 'PublishForm' })
export const PublishedDraft = Uploaded.extend({ revision: z.int() }).meta({ id: 'PublishedDraft' })

const NullableEtag = Etag.nullable()
export const RebaseForm = z
  .strictObject({
    onto: Sha256,
    choices: z
      .record(Path, z.enum(['draft', 'onto']))
      .default({})
      .describe('for each file that changed both in the draft and in the new base: the copy to keep'),
  })
  .meta({ id: 'RebaseForm' })
export const RebasedDraft = z
  .object({
    isDone: z
      .boolean()
      .describe(
        'whether the draft is now based on the new version; if false, there are conflicts and nothing was changed',
      ),
    base: Version.nullable(),
    revision: z.int(),
    taken: z.array(z.string()).describe('files that now have the content from the new base'),
    conflicts: z.array(z.object({ path: z.string(), draft: NullableEtag, base: NullableEtag, onto: NullableEtag })),
  })
  .meta({ id: 'RebasedDraft' })

/**
 * `Buffer` skips invalid characters, so a shorter result shows that there are some. A regular expression would need a
 * lot of memory for long texts.
 */
function isBase64(text: string): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return text.length % 4 === 0 && Buffer.from(text, 'base64').length === (text.length / 4) * 3 - padding
}
