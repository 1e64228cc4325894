import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The platform's code, without its folder. */
const sources = ['bin', 'runtime', 'plugins', 'host'].flatMap((folder) =>
  (readdirSync(join(ROOT, folder), { recursive: true }) as string[])
    .filter((name) => /\.[jt]s$/.test(name))
    .map((name) => [`${folder}/${name}`, readFileSync(join(ROOT, folder, name), 'utf8')] as const),
)

test('nothing in the platform opens a connection: it only listens', () => {
  const modules = /^import (?!type )([^'"]*?) from 'node:(net|tls|http|https|http2|dgram|dns)(?:\/\w+)?'/gm
  const imported = sources.flatMap(([file, text]) =>
    [...text.matchAll(modules)].map(([, names, module]) => `${file}: ${names} of ${module}`),
  )
  // The sandbox process has its file descriptor as a Socket; a server listens; the rest are functions of texts.
  expect(imported.sort()).toEqual([
    'host/http/server.ts: { createServer, type Server, STATUS_CODES } of http',
    'runtime/bundle/manifest-schema.ts: { isIPv6 } of net',
    'runtime/sandbox/main.ts: { Socket } of net',
  ])
  const calls = /\b(?:fetch|connect|WebSocket|EventSource|XMLHttpRequest)\(|\b(?:require|getBuiltinModule)\(/
  expect(sources.filter(([, text]) => calls.test(text)).map(([file]) => file)).toEqual([])
})
