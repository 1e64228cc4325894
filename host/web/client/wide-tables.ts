/** Attributes that the page itself sets to make a table's container a Tab stop. Patches must keep them. */
const OF_REGION = ['tabindex', 'role', 'aria-labelledby']

const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) markRegion(target)
})

/** Makes tables that are wider than their container scrollable by keyboard. */
export function watchTables(root: HTMLElement): void {
  widths.disconnect()
  for (const region of root.querySelectorAll('.wide')) {
    markRegion(region)
    widths.observe(region)
  }
}

export function isOfRegion(name: string, element: Element): boolean {
  return OF_REGION.includes(name) && element.classList.contains('wide')
}

function markRegion(region: Element): void {
  const isWide = region.scrollWidth > region.clientWidth
  const caption = region.querySelector('caption')?.id ?? ''
  const values = isWide ? ['0', 'region', caption] : []
  OF_REGION.forEach((name, index) => {
    const value = values[index]
    if (value === undefined) region.removeAttribute(name)
    else region.setAttribute(name, value)
  })
}
