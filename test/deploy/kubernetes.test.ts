import { basename } from 'node:path'
import { expect, test, vi } from 'vitest'
import { health } from '../../base/http/health.ts'
import { readSettings } from '../../host/config/settings.ts'
import { at, type Described, documentsOf, filesOf, propertiesOf, textOf } from './delivered.ts'

const FOLDER = 'kubernetes'
const file = (name: string) => `${FOLDER}/${name}`
const [kustomization] = documentsOf(file('kustomization.yaml'))
const resources = at(kustomization, 'resources') as string[]
const objects = resources.flatMap((name) => documentsOf(file(name)))
const only = (kind: string): Described => {
  const found = objects.filter((one) => one.kind === kind)
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} objects of kind ${kind}`)
  return found[0]
}
const deployment = only('Deployment')
const pod = at(deployment, 'spec.template.spec') as Described
const container = at(pod, 'containers.0') as Described
const ports = new Map(
  (container.ports as { name: string; containerPort: number }[]).map((one) => [one.name, one.containerPort]),
)
const properties = propertiesOf(file('settings.env'))
const settings = readSettings(Object.fromEntries(properties))
const services = objects.filter(({ kind }) => kind === 'Service')
/** The secret that `kubectl create secret generic` creates in the guide. */
const SECRET = 'solhost'

test('kubernetes: the kustomization lists every manifest', () => {
  const files = filesOf(`${FOLDER}/*.yaml`).map((path) => basename(path))
  // Skips prometheus-adapter.yaml, which contains values for a different Helm chart.
  const others = ['kustomization.yaml', 'prometheus-adapter.yaml']
  expect(files.filter((name) => !others.includes(name))).toEqual([...resources].sort())
  for (const one of objects)
    expect([typeof one.apiVersion, typeof at(one, 'metadata.name')]).toEqual(['string', 'string'])
})

test('kubernetes: all settings are valid for a host', () => {
  const known = settings.shown.map(({ name }) => name)
  const given = (container.env as { name: string }[]).map(({ name }) => name.replace(/_FILE$/, ''))
  expect([...properties.keys(), ...given].filter((name) => !known.includes(name))).toEqual([])
  expect(settings).toMatchObject({ database: { kind: 'alpha' }, environment: 'onprem' })
})

test('kubernetes: secrets are only used as mounted files', () => {
  const mounts = container.volumeMounts as { name: string; mountPath: string }[]
  const [{ secret } = { secret: null }] = (pod.volumes as { name: string; secret?: Described }[]).filter(
    (one) => one.secret,
  )
  expect(secret).toMatchObject({ secretName: SECRET, defaultMode: 0o440 })
  const folder = mounts.find(({ name }) => name === 'secrets')?.mountPath
  const paths = ((secret?.items ?? []) as { path: string }[]).map(({ path }) => `${folder}/${path}`)
  const read = (container.env as { name: string; value: string }[]).map(({ name, value }) => [
    name.endsWith('_FILE'),
    value,
  ])
  expect(new Set(read)).toEqual(new Set(paths.map((path) => [true, path])))
  expect([...properties.keys()].filter((name) => /PASSWORD|KEY|TOKEN/.test(name))).toEqual([])
})

test('kubernetes: every label, name and port that an object refers to exists', () => {
  const labels = at(deployment, 'spec.template.metadata.labels')
  const selectors = [
    at(deployment, 'spec.selector.matchLabels'),
    ...services.map((one) => at(one, 'spec.selector')),
    at(only('PodDisruptionBudget'), 'spec.selector.matchLabels'),
    at(only('NetworkPolicy'), 'spec.podSelector.matchLabels'),
    ...(pod.topologySpreadConstraints as Described[]).map((one) => at(one, 'labelSelector.matchLabels')),
  ]
  for (const selector of selectors) expect(selector).toEqual(labels)
  expect(at(only('HorizontalPodAutoscaler'), 'spec.scaleTargetRef')).toMatchObject({
    kind: 'Deployment',
    name: at(deployment, 'metadata.name'),
  })
  expect(pod.serviceAccountName).toBe(at(only('ServiceAccount'), 'metadata.name'))
  expect(at(container, 'envFrom.0.configMapRef.name')).toBe(at(kustomization, 'configMapGenerator.0.name'))
  expect(at(kustomization, 'images.0.name')).toBe(container.image)
  expect(at(only('Namespace'), 'metadata.name')).toBe(kustomization?.namespace)
  for (const one of services) expect([...ports.keys()]).toContain(at(one, 'spec.ports.0.targetPort'))
  const [web] = services
  const paths = at(only('Ingress'), 'spec.rules.0.http.paths') as Described[]
  for (const path of paths) {
    expect(at(path, 'backend.service')).toEqual({
      name: at(web, 'metadata.name'),
      port: { name: at(web, 'spec.ports.0.name') },
    })
  }
  const host = at(only('Ingress'), 'spec.rules.0.host')
  expect([host, [host]]).toEqual([settings.publicUrl?.hostname, at(only('Ingress'), 'spec.tls.0.hosts')])
})

test('kubernetes: the ports are those that the host listens on and the network policy allows', () => {
  expect(Object.fromEntries(ports)).toEqual({ pages: settings.port, metrics: Number(properties.get('METRICS_PORT')) })
  const ingress = at(only('NetworkPolicy'), 'spec.ingress') as Described[]
  expect(ingress.map((rule) => at(rule, 'ports.0.port'))).toEqual([...ports.values()])
  const egress = at(only('NetworkPolicy'), 'spec.egress') as Described[]
  expect(egress.map((rule) => at(rule, 'ports.0.port'))).toEqual([53, settings.databaseServers.alpha.port, 443])
})

test.each(['startupProbe', 'livenessProbe', 'readinessProbe'])(
  'kubernetes: the %s requests a path that exists on the host',
  async (name) => {
    const { path, port } = at(container, `${name}.httpGet`) as { path: string; port: string }
    expect([...ports.keys()]).toContain(port)
    const next = vi.fn()
    const ctx = { path, method: 'GET', set() {} } as unknown as Parameters<ReturnType<typeof health>>[0]
    await health(() => true)(ctx, next)
    expect([next.mock.calls, ctx.status]).toEqual([[], 200])
  },
)

test('kubernetes: a terminating pod is unready long enough for the probe to notice, and is not killed too early', () => {
  const { periodSeconds, failureThreshold } = container.readinessProbe as Record<string, number>
  const seen = (periodSeconds ?? 0) * (failureThreshold ?? 0) * 1000
  expect(settings.drainTime / 2).toBeGreaterThan(seen)
  expect((pod.terminationGracePeriodSeconds as number) * 1000).toBeGreaterThan(settings.drainTime + 4000)
})

test('kubernetes: the container has no unneeded privileges', () => {
  expect(pod).toMatchObject({
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
  })
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  expect(at(only('Namespace'), 'metadata.labels')).toEqual({ 'pod-security.kubernetes.io/enforce': 'restricted' })
})

test('kubernetes: the host’s memory limit is below the container’s', () => {
  const limit = Number(/^(\d+)Mi$/.exec(String(at(container, 'resources.limits.memory')))?.[1]) * 1024 ** 2
  expect(settings.memory.maximum).toBeLessThan(limit)
})

test('kubernetes: the autoscaler uses a metric that the adapter derives from one of the host’s metrics', () => {
  const metrics = at(only('HorizontalPodAutoscaler'), 'spec.metrics') as Described[]
  const names = metrics.map((one) => at(one, 'resource.name') ?? at(one, 'pods.metric.name'))
  const [adapter] = documentsOf(file('prometheus-adapter.yaml'))
  expect(names).toEqual(['cpu', at(adapter, 'rules.custom.0.name.as')])
  expect(at(adapter, 'rules.custom.0.seriesQuery')).toContain('solhost_logins_total{')
  expect(textOf(file('prometheus-adapter.yaml'))).toContain('rate(')
})
