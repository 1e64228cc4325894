import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { renewEditorFiles } from '../../cli/editor-files.ts'
import {
  foldersOfSolution,
  readListedFile,
  readSolutionFolder,
  readTestFiles,
  writeOwnFile,
} from '../../cli/solution-folder.ts'
import { temporaryFolder } from '../support/cli.ts'

const MANIFEST = { 'solution.json': '{}' }

const problemOf = (read: () => unknown) => {
  try {
    read()
    return 'none'
  } catch (error) {
    return (error as Error).message
  }
}

test('folder: the bundle’s files are read in sorted order, and tests separately', () => {
  using folder = temporaryFolder({
    ...MANIFEST,
    'scopes/a.js': 'a',
    'globals.js': 'g',
    'globals.test.js': 't',
    'modules/x/forms/b.test.ts': 'b',
    'node_modules/y/index.js': '',
    '.solhost/dev/z': '',
  })
  const { files } = readSolutionFolder(folder.path)
  expect([...files.keys()]).toEqual(['globals.js', 'scopes/a.js', 'solution.json'])
  expect(files.get('scopes/a.js')?.toString()).toBe('a')
  expect([...readTestFiles(folder.path).keys()]).toEqual(['globals.test.js', 'modules/x/forms/b.test.ts'])
})

test('folder: a link to a file, to a folder or to nothing is rejected, and its target is not read', () => {
  using secret = temporaryFolder({ 'key.pem': 'secret' })
  for (const [name, target] of [
    ['media/key.txt', join(secret.path, 'key.pem')],
    ['media/all', secret.path],
    ['media/loop', '..'],
    ['gone.js', join(secret.path, 'nothing')],
  ] as const) {
    using folder = temporaryFolder({ ...MANIFEST, 'media/style.css': '' })
    symlinkSync(target, join(folder.path, name))
    expect(problemOf(() => readSolutionFolder(folder.path))).toBe(
      `"${name}" is a symbolic link, but a bundle can contain only regular files. Replace it with a regular file, or remove it.`,
    )
    expect(foldersOfSolution(folder.path)).toEqual(['', 'media/'])
  }
  using folder = temporaryFolder(MANIFEST)
  symlinkSync(join(secret.path, 'key.pem'), join(folder.path, 'globals.test.js'))
  expect(problemOf(() => readTestFiles(folder.path))).toMatch(/^"globals.test.js" is a symbolic link/)
})

test('folder: anything that is neither a file nor a folder is rejected, since reading it might never end', async () => {
  using folder = temporaryFolder(MANIFEST)
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(join(folder.path, 'socket'), resolve))
  try {
    expect(problemOf(() => readSolutionFolder(folder.path))).toMatch(/^"socket" is not a regular file/)
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
})

test('folder: content over a solution’s size limit is detected before it is read', () => {
  using folder = temporaryFolder({ ...MANIFEST, 'media/film.mp4': '' })
  // A sparse file: its size is 64 GiB, but it uses no disk space.
  truncateSync(join(folder.path, 'media/film.mp4'), 64 * 1024 ** 3)
  expect(problemOf(() => readSolutionFolder(folder.path))).toMatch(
    /contains more than 512 MB\. Check that you specified the solution’s folder and not a parent folder\.$/,
  )
})

test('folder: a file that was replaced or removed after it was listed is reported, and never waited for', async () => {
  using secret = temporaryFolder({ 'key.pem': 'secret' })
  using folder = temporaryFolder({ ...MANIFEST, 'a.js': 'a' })
  const problem = (name: string) => problemOf(() => readListedFile(folder.path, name, 100))
  symlinkSync(join(secret.path, 'key.pem'), join(folder.path, 'link.js'))
  execFileSync('mkfifo', [join(folder.path, 'pipe.js')])
  mkdirSync(join(folder.path, 'folder.js'))
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(join(folder.path, 'socket.js'), resolve))
  expect(problem('link.js')).toMatch(/^"link.js" is a symbolic link/)
  for (const name of ['pipe.js', 'folder.js', 'socket.js'])
    expect(problem(name)).toContain(`"${name}" is not a regular file`)
  await new Promise((resolve) => server.close(resolve))
  for (const name of ['gone.js', 'a.js/b.js'])
    expect(problem(name)).toBe(
      `"${join(folder.path, name)}" was removed or renamed while the folder was being read. Run the command again.`,
    )
  expect(problem('a.js')).toBe('none')
  expect(problemOf(() => readListedFile(folder.path, 'solution.json', 1))).toContain('contains more than 512 MB')
})

test('folder: a path that is too long is reported', () => {
  using folder = temporaryFolder(MANIFEST)
  const before = process.cwd()
  try {
    process.chdir(folder.path)
    for (let depth = 0; depth < 25; depth++) {
      mkdirSync('d'.repeat(200))
      process.chdir('d'.repeat(200))
    }
  } finally {
    process.chdir(before)
  }
  expect(problemOf(() => readSolutionFolder(folder.path))).toMatch(
    /^The path ".{100}…" is too long\. Remove or rename nested folders\.$/,
  )
})

test.each([
  ['a file', ['a\xff.js'], 'a\ufffd.js'],
  ['a file in a folder', ['modules', 'a\xff.js'], 'modules/a\ufffd.js'],
  ['a folder', ['d\xff', 'a.js'], 'd\ufffd'],
  ['a test', ['a\xff.test.js'], 'a\ufffd.test.js'],
])('folder: the name of %s that is not UTF-8 is reported', (_what, parts, shown) => {
  using folder = temporaryFolder(MANIFEST)
  const bytes = (names: readonly string[]) =>
    Buffer.concat([Buffer.from(`${folder.path}/`), Buffer.from(names.join('/'), 'latin1')])
  mkdirSync(bytes(parts.slice(0, -1)), { recursive: true })
  writeFileSync(bytes(parts), '')
  const read = () => [readSolutionFolder(folder.path), readTestFiles(folder.path)]
  expect(problemOf(read)).toBe(`The name "${shown}" is not valid UTF-8. Rename the file or folder.`)
})

test('folder: editor files are never written through a link', () => {
  using victim = temporaryFolder({ profile: 'mine' })
  using folder = temporaryFolder(MANIFEST)
  const profile = join(victim.path, 'profile')
  symlinkSync(profile, join(folder.path, 'solhost.d.ts'))
  symlinkSync(victim.path, join(folder.path, '.solhost'))
  writeFileSync(join(victim.path, 'form.schema.json'), 'mine')
  expect(renewEditorFiles(readSolutionFolder(folder.path))).toEqual([])
  expect(problemOf(() => writeOwnFile(folder.path, 'solhost.d.ts', 'x'))).toBe(
    `"${join(folder.path, 'solhost.d.ts')}" is a symbolic link, so nothing was written there. Remove the link, then run the command again.`,
  )
  expect(problemOf(() => writeOwnFile(folder.path, '.solhost/new', 'x'))).toContain('is a symbolic link')
  expect([readFileSync(profile, 'utf8'), existsSync(join(victim.path, 'new'))]).toEqual(['mine', false])

  mkdirSync(join(folder.path, 'media'))
  writeOwnFile(folder.path, 'media/login.html', 'x')
  expect(readFileSync(join(folder.path, 'media/login.html'), 'utf8')).toBe('x')
})
