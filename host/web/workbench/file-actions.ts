import { isSure } from '../../../base/web/scripts/question.ts'
import { say } from '../../../base/web/scripts/said.ts'
import { callHost, filePath, type HostAnswer, type HostProblem } from './call-host.ts'
import { askPath } from './name-dialog.ts'
import { pageData, partOf, wordsFor } from './page-data.ts'

export type FileActionParts = {
  readonly shown: () => string | null
  readonly etagOf: (path: string) => string | null
  readonly isListed: (path: string) => boolean
  readonly saveAll: () => Promise<boolean>
  /**
   * @param gone the path of the file whose text in the editor is outdated
   * @param open the path of the file to show next
   */
  readonly changed: (gone: string | null, open: string | null) => Promise<void>
  readonly refused: (problem: HostProblem) => void
}

/** Adds, uploads, renames, deletes and reverts files. */
export function changeFiles(parts: FileActionParts): void {
  const upload = partOf<HTMLInputElement>('upload')
  const actions: Readonly<Record<string, (path: string) => Promise<void>>> = { rename, delete: remove, revert }
  for (const [name, act] of Object.entries(actions)) {
    partOf(name).addEventListener('click', () => {
      const path = parts.shown()
      if (path !== null) void act(path)
    })
  }
  partOf('add').addEventListener('click', () => void add())
  partOf('upload-open').addEventListener('click', () => upload.click())
  upload.addEventListener('change', () => void uploadFiles([...(upload.files ?? [])]))

  async function add(): Promise<void> {
    const path = await askPath(wordsFor('add.title'), '')
    if (path === null || path === '') return
    const answer = await callHost('PUT', filePath(path), { body: { text: '' }, etag: null })
    if (answer.ok) await parts.changed(null, path)
    else parts.refused(answer.problem)
  }

  async function uploadFiles(files: readonly File[]): Promise<void> {
    upload.value = ''
    const folder = parts.shown()?.replace(/[^/]*$/, '') ?? ''
    for (const file of files) {
      // The host would also refuse the file. But it may respond before the browser has sent the whole body, and the
      // browser may then report only a lost connection.
      if (file.size > pageData.most) return parts.refused({ status: 413, detail: tooLarge(file) })
      const path = await askPath(wordsFor('upload.title', file.name), `${folder}${file.name}`)
      if (path === null || path === '') continue
      if (parts.isListed(path) && !(await isSure(wordsFor('upload.sure', path)))) continue
      const answer = await callHost('PUT', filePath(path), {
        body: { base64: await base64Of(file) },
        etag: parts.etagOf(path),
      })
      if (!answer.ok) return parts.refused(answer.problem)
      await parts.changed(path, path)
    }
  }

  async function rename(path: string): Promise<void> {
    const to = await askPath(wordsFor('rename.title', path), path)
    if (to === null || to === '' || to === path) return
    // Renaming closes the file, so a text that cannot be saved would be lost.
    if (!(await parts.saveAll())) return say(wordsFor('publish.unsaved'))
    await change(path, to, (etag) => callHost('POST', '/rename', { body: { from: path, to }, etag }))
  }

  async function remove(path: string): Promise<void> {
    if (!(await isSure(wordsFor('delete.sure', path)))) return
    await parts.saveAll()
    await change(path, null, (etag) => callHost('DELETE', filePath(path), { etag }))
  }

  async function revert(path: string): Promise<void> {
    if (!(await isSure(wordsFor('revert.sure', path)))) return
    await parts.saveAll()
    await change(path, path, (etag) => callHost('POST', '/revert', { body: { path }, etag }))
  }

  /**
   * Changes the file at this path.
   * @param act changes the file, unless its etag on the host has changed
   * @param open the path of the file to show next
   */
  async function change(path: string, open: string | null, act: (etag: string) => Promise<HostAnswer<unknown>>) {
    // The etag in the list of files may be older than the last save, so request the current one.
    const now = await callHost<{ etag: string }>('GET', filePath(path))
    if (!now.ok) return parts.refused(now.problem)
    const answer = await act(now.body.etag)
    if (!answer.ok) return parts.refused(answer.problem)
    await parts.changed(path, open)
  }
}

function tooLarge({ name }: File): string {
  return wordsFor('upload.large', name, Math.floor((pageData.most / 1024 ** 2) * 10) / 10)
}

function base64Of(file: File): Promise<string> {
  const reader = new FileReader()
  return new Promise((resolve, reject) => {
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })
}
