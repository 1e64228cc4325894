import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { textOf } from './delivered.ts'

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
const { version } = JSON.parse(read('package.json')) as { version: string }

test.each([
  ['Dockerfile', read('Dockerfile'), /^ARG VERSION=(.*)$/gm],
  ['deploy/compose.yaml', textOf('compose.yaml'), /solhost\/satellite:\$\{SOLHOST_VERSION:-(.*)\}/g],
  [
    'deploy/control-center/compose.yaml',
    textOf('control-center/compose.yaml'),
    /solhost\/satellite:\$\{SOLHOST_VERSION:-(.*)\}/g,
  ],
  [
    'deploy/control-center/kubernetes/kustomization.yaml',
    textOf('control-center/kubernetes/kustomization.yaml'),
    /newTag: "?([^\s"]*)/g,
  ],
  ['deploy/kubernetes/kustomization.yaml', textOf('kubernetes/kustomization.yaml'), /newTag: "?([^\s"]*)/g],
])('%s has the same version as package.json', (_file, text, named) => {
  expect([...text.matchAll(named)].map((match) => match[1])).toEqual([version])
})
