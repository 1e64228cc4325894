import { packFiles } from '../../base/bundles/pack.ts'
import type { BuildStamp } from '../packages/build-stamp.ts'

/** The folder in the image for built-in solutions: the value of the image's `SOLUTIONS_FOLDER`. */
export const SOLUTIONS_FOLDER = '/usr/local/solutions'

export type ContextParts = {
  readonly baseImage: string
  readonly solution: string
  readonly title: string
  readonly version: string
  /** Hash of the bundle. */
  readonly sha256: string
  readonly stamp: BuildStamp
  readonly bundle: Uint8Array
}

/** Creates the files of a build context, by name. The output is deterministic. */
export function contextFiles(parts: ContextParts): ReadonlyMap<string, Buffer> {
  const { solution, bundle } = parts
  return new Map([
    ['.dockerignore', Buffer.from(`*\n!${solution}.zip\n!build.json\n`)],
    ['Dockerfile', Buffer.from(dockerfile(parts))],
    ['build.json', Buffer.from(`${JSON.stringify(buildOf(parts), null, 2)}\n`)],
    [`${solution}.zip`, Buffer.from(bundle)],
  ])
}

export function packContext(files: ReadonlyMap<string, Buffer>): Promise<Buffer> {
  return packFiles(files)
}

/** The content of the `build.json` in the image. */
function buildOf({ solution, title, version, sha256, stamp }: ContextParts) {
  return { solution, title, version, sha256, ...stamp }
}

function dockerfile({ baseImage, solution, title, version, sha256, stamp }: ContextParts): string {
  const labels = {
    'org.opencontainers.image.title': title,
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.created': stamp.date,
    'org.opencontainers.image.revision': stamp.commit,
    'org.opencontainers.image.base.name': baseImage,
    'solhost.solution': solution,
    'solhost.solution.sha256': sha256,
    'solhost.build.branch': stamp.branch,
    'solhost.build.number': stamp.number,
  }
  const lines = Object.entries(labels).flatMap(([name, value]) => (value ? [`${name}=${quoted(value)}`] : []))
  return [
    `# A host image that includes the solution "${solution}". The host adds the solution when it starts.`,
    `FROM ${baseImage}`,
    `COPY ${solution}.zip ${SOLUTIONS_FOLDER}/${solution}.zip`,
    `COPY build.json ${SOLUTIONS_FOLDER}/build.json`,
    `ENV SOLUTIONS_FOLDER=${SOLUTIONS_FOLDER}`,
    `LABEL ${lines.join(' \\\n      ')}`,
    '',
  ].join('\n')
}

/** Quotes and escapes a label value. Titles may contain any character, and builders would expand `$name`. */
function quoted(text: string): string {
  const line = text.toWellFormed().replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
  return `"${line.replace(/[\\"$]/g, '\\$&')}"`
}
