type SecretHost = { readonly host?: string; readonly setting?: string }

/**
 * Shows the fields of the chosen provider, which are sent; those of others are hidden and are not. A field shows what
 * counts where it is left empty: the manifest's value, with the manifest's provider, or the provider's own.
 */
export function showProviderFields(form: HTMLFormElement): void {
  const ofManifest = form.dataset.apiOfManifest ?? ''
  const api = form.querySelector<HTMLSelectElement>('#oauth-api')?.value || ofManifest
  for (const field of form.querySelectorAll<HTMLElement>('[data-providers]')) {
    showProviderField(field, api, api === ofManifest)
  }
  demandSecret(form, api, api === ofManifest)
  suggestSecretHosts(form, api)
}

function showProviderField(field: HTMLElement, api: string, isOfManifest: boolean): void {
  const control = field.querySelector<HTMLInputElement | HTMLSelectElement>('input, select')
  if (control === null) return
  const { providers = '', requiredBy = '', defaults = '{}', ofManifest = '' } = field.dataset
  const known = providers.split(' ')
  // Before a provider is chosen, only what all of them have.
  field.hidden = api === '' ? known.length < providerCount() : !known.includes(api)
  control.disabled = field.hidden
  const written = isOfManifest ? ofManifest : ''
  const usual = written || ((JSON.parse(defaults) as Record<string, string>)[api] ?? '')
  control.required = written === '' && requiredBy.split(' ').includes(api)
  if (control instanceof HTMLInputElement) control.placeholder = usual
  else nameUnset(control, usual)
}

/** A secret is typed where the provider wants one, unless it is named: in the field beside it, or by the manifest. */
function demandSecret(form: HTMLFormElement, api: string, isOfManifest: boolean): void {
  const [value, name] = ['value', 'name'].map((part) => form.querySelector<HTMLInputElement>(`#oauth-secret-${part}`))
  if (!value || !name) return
  const isKnown = name.value !== '' || (isOfManifest && value.dataset.inManifest === 'true')
  value.required = !isKnown && (value.dataset.requiredBy ?? '').split(' ').includes(api)
}

function nameUnset(control: HTMLSelectElement, usual: string): void {
  const [unset] = control.options
  if (unset === undefined) return
  unset.dataset.text ??= unset.text
  unset.text = usual === '' ? unset.dataset.text : `${unset.dataset.text} (${usual})`
}

function providerCount(): number {
  return document.querySelectorAll('#oauth-api option[value]:not([value=""])').length
}

/** Where the secret goes, until somebody writes something else. */
function suggestSecretHosts(form: HTMLFormElement, api: string): void {
  const field = form.querySelector<HTMLInputElement>('#oauth-secret-hosts')
  if (field === null || field.value !== (field.dataset.suggested ?? '')) return
  const hosts = (JSON.parse(form.dataset.secretHosts ?? '{}') as Record<string, readonly SecretHost[]>)[api] ?? []
  const found = hosts.map((one) => one.host ?? hostIn(form, one.setting ?? '')).find((host) => host !== '') ?? ''
  field.value = found
  field.dataset.suggested = found
}

/** With its port, unless that is 443: so the API wants it. */
function hostIn(form: HTMLFormElement, setting: string): string {
  const control = form.querySelector<HTMLInputElement>(`#oauth-${setting}`)
  const written = control?.value.trim() || control?.placeholder || ''
  if (setting === 'domain') return written
  const address = URL.parse(written)
  if (address === null || !/^https?:$/.test(address.protocol)) return ''
  return address.protocol === 'http:' && address.port === '' ? `${address.hostname}:80` : address.host
}
