import type { Bundle } from './bundle.ts'
import { type Findings, showName } from './findings.ts'
import { folderOf, type Place } from './layout.ts'
import { filesOf, folderName, type Part, type PartFile } from './parts.ts'
import { decodeUtf8 } from './strict-json.ts'

export type BundleFiles = Pick<Bundle, 'scripts' | 'formScripts' | 'forms' | 'i18n' | 'media' | 'loginTemplate'>

/** Sorts the files into the fields of a bundle, in the order of `parts`. */
export function bundleFiles(parts: readonly Part[], found: Findings): BundleFiles {
  const main = parts.find(({ module }) => module === null)
  const files = {
    scripts: parts.flatMap((part) => scriptsOf(part, found)),
    formScripts: parts.flatMap((part) => formScriptsOf(part, found)),
    forms: parts.flatMap((part) => formsOf(part, found)),
    i18n: parts.flatMap((part) => i18nOf(part, found)),
    media: new Map(filesOf(main, 'media').flatMap((file) => (file.content ? [[file.place.path, file.content]] : []))),
    loginTemplate: templateOf(main, found),
  }
  for (const part of parts) warnOfUnused(part, found)
  return files
}

function templateOf(main: Part | undefined, found: Findings) {
  const [template] = withText(filesOf(main, 'loginTemplate'), found)
  return template === undefined ? null : { file: template.file, source: template.source }
}

function scriptsOf(part: Part, found: Findings) {
  const scripts = filesOf(part, 'script')
  refuseTwins(scripts, found)
  return withText(scripts, found).map(({ file, source }) => ({ module: part.module, file, source }))
}

function formScriptsOf(part: Part, found: Findings) {
  const scripts = filesOf(part, 'formScript')
  refuseTwins(scripts, found)
  const forms = new Set(filesOf(part, 'form').map(({ place }) => place.base))
  for (const { file, place } of scripts) {
    if (!forms.has(place.base)) {
      const form = `${folderOf(part.module)}forms/${place.base}.json`
      found.warn(file, 'form_script_unused', `there is no form "${form}"; the script is stored but ignored`)
    }
  }
  const used = scripts.filter(({ place }) => forms.has(place.base))
  return withText(used, found).map(({ file, source, place }) => ({
    module: part.module,
    file,
    source,
    form: place.base,
  }))
}

function formsOf(part: Part, found: Findings) {
  return withText(filesOf(part, 'form'), found).map(({ file, source, place }) => ({
    module: part.module,
    form: place.base,
    file,
    source,
  }))
}

function i18nOf(part: Part, found: Findings) {
  return withText(filesOf(part, 'i18n'), found).flatMap(({ file, source, place: { locale } }) => {
    if (locale !== null) return [{ module: part.module, locale, file, source }]
    found.fault(
      file,
      'i18n_invalid',
      'the file must be named default.json or after a locale, such as nl.json or nl_BE.json',
    )
    return []
  })
}

/** Returns the files with their text. Omits files that were rejected earlier. A file that is not UTF-8 is an error. */
function withText<File extends PartFile>(files: readonly File[], found: Findings) {
  return files.flatMap(({ file, place, content }: File) => {
    if (content === null) return []
    const source = decodeUtf8(content)
    if (source !== null) return [{ file, place: place as File['place'], source: withoutMark(source, place) }]
    found.fault(file, isJson(place) ? 'json_invalid' : 'text_invalid', 'the file is not UTF-8; save it as UTF-8')
    return []
  })
}

/**
 * Removes the byte order mark that editors on Windows write at the start of scripts. It stays in JSON, where it is not
 * allowed: the parser reports it.
 */
function withoutMark(source: string, place: Place): string {
  return source.startsWith('\ufeff') && !isJson(place) ? source.slice(1) : source
}

function isJson(place: Place): boolean {
  return place.kind === 'form' || place.kind === 'i18n'
}

function refuseTwins(
  files: readonly (PartFile & { readonly place: { readonly base: string } })[],
  found: Findings,
): void {
  const seen = new Map<string, string>()
  for (const { file, place } of files) {
    const twin = seen.get(place.base)
    if (twin === undefined) seen.set(place.base, file)
    else
      found.fault(
        file,
        'name_duplicate',
        `"${file}" and "${twin}" are the same script, once in JavaScript and once in TypeScript; keep one`,
      )
  }
}

function warnOfUnused(part: Part, found: Findings): void {
  if (part.module !== null && (filesOf(part, 'media').length > 0 || filesOf(part, 'loginTemplate').length > 0)) {
    const folder = folderName(part)
    found.warn(
      `${folder}/media`,
      'file_unused',
      `only files in the solution’s own media/ folder are used; ${folder}/media is stored but ignored`,
    )
  }
  for (const { file, place } of filesOf(part, 'unused')) {
    if (!place.expected) {
      const shown = showName(file)
      const meant = /^(?:modules\/[^/]+\/)?medias\//.test(file) ? '; put media files in media/' : ''
      found.warn(
        shown,
        'file_unused',
        `Solhost does not read files at the path "${shown}"; the file is stored but ignored${meant}`,
      )
    }
  }
}
