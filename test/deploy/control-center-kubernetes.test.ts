import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { CENTER_PROPERTIES } from '../../control-center/config/properties.ts'
import { readCenterSettings } from '../../control-center/config/settings.ts'
import { at, type Described, documentsOf, filesOf, propertiesOf } from './delivered.ts'

const FOLDER = 'control-center/kubernetes'
const [kustomization] = documentsOf(`${FOLDER}/kustomization.yaml`)
const resources = at(kustomization, 'resources') as string[]
const objects = resources.flatMap((name) => documentsOf(`${FOLDER}/${name}`))
const only = (kind: string): Described => {
  const found = objects.filter((one) => one.kind === kind)
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} objects of kind ${kind}`)
  return found[0]
}
const deployment = only('Deployment')
const pod = at(deployment, 'spec.template.spec') as Described
const container = at(pod, 'containers.0') as Described
const properties = propertiesOf(`${FOLDER}/settings.env`)
const settings = readCenterSettings(Object.fromEntries(properties))
const env = container.env as { name: string; value: string }[]

test('kubernetes: the kustomization lists every manifest, and names match', () => {
  const files = filesOf(`${FOLDER}/*.yaml`).map((path) => basename(path))
  expect(files.filter((name) => name !== 'kustomization.yaml')).toEqual([...resources].sort())
  expect(at(only('Namespace'), 'metadata.name')).toBe(kustomization?.namespace)
  expect(at(kustomization, 'images.0.name')).toBe(container.image)
  expect(at(container, 'envFrom.0.configMapRef.name')).toBe(at(kustomization, 'configMapGenerator.0.name'))
})

test('kubernetes: all settings are valid for a control center; secrets are only used as mounted files', () => {
  const given = env.map(({ name }) => name.replace(/_FILE$/, ''))
  expect([...properties.keys(), ...given].filter((name) => !Object.hasOwn(CENTER_PROPERTIES, name))).toEqual([])
  expect(settings).toMatchObject({ database: { kind: 'alpha' } })
  expect([...properties.keys()].filter((name) => /PASSWORD|KEY|TOKEN|SMTP/.test(name))).toEqual([])
  const mounts = container.volumeMounts as { name: string; mountPath: string }[]
  const folder = mounts.find(({ name }) => name === 'secrets')?.mountPath
  const items = at(pod, 'volumes.2.secret.items') as { path: string }[]
  expect(new Set(env.map(({ value }) => value))).toEqual(new Set(items.map(({ path }) => `${folder}/${path}`)))
})

test('kubernetes: every label and port that an object refers to exists and belongs to the control center', () => {
  const labels = at(deployment, 'spec.template.metadata.labels')
  const selectors = [
    at(deployment, 'spec.selector.matchLabels'),
    at(only('Service'), 'spec.selector'),
    at(only('NetworkPolicy'), 'spec.podSelector.matchLabels'),
  ]
  for (const selector of selectors) expect(selector).toEqual(labels)
  expect(at(container, 'ports')).toEqual([{ name: 'pages', containerPort: settings.port }])
  expect(at(only('NetworkPolicy'), 'spec.ingress.0.ports.0.port')).toBe(settings.port)
  expect(at(only('NetworkPolicy'), 'spec.egress.1.ports.0.port')).toBe(settings.databaseServers.alpha.port)
  expect(at(only('Service'), 'spec.ports.0.targetPort')).toBe('pages')
  const rule = at(only('Ingress'), 'spec.rules.0')
  expect(at(rule, 'http.paths.0.backend.service')).toEqual({
    name: at(only('Service'), 'metadata.name'),
    port: { name: 'pages' },
  })
  const hosts = at(only('Ingress'), 'spec.tls.0.hosts')
  expect([at(rule, 'host'), hosts]).toEqual([settings.publicUrl?.hostname, [settings.publicUrl?.hostname]])
  expect(
    Number(at(only('Ingress'), 'metadata.annotations')?.['nginx.ingress.kubernetes.io/proxy-read-timeout' as never]),
  ).toBeGreaterThanOrEqual(75)
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
    expect(at(container, `${probe}.httpGet`)).toMatchObject({
      port: 'pages',
      path: expect.stringMatching(/^\/health\/(live|ready)$/),
    })
})

test('kubernetes: a single replica runs without unneeded privileges, and the host’s memory limit is below the container’s', () => {
  expect(deployment.spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } })
  expect(pod).toMatchObject({
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
  })
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  expect(container.command).toEqual(['control-center'])
  const limit = Number(/^(\d+)Mi$/.exec(String(at(container, 'resources.limits.memory')))?.[1]) * 1024 ** 2
  expect(settings.memory.maximum).toBeLessThan(limit)
  expect((pod.terminationGracePeriodSeconds as number) * 1000).toBeGreaterThan(settings.drainTime + 4000)
})
