/** What makes a table's place a stop for the Tab key, by the page's own hand: patches leave it. */
const OF_REGION = ['tabindex', 'role', 'aria-labelledby']

const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) markRegion(target)
})

/** A table that is wider than its place scrolls within it, which people without a mouse must be able to do too. */
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
