import { posix } from 'node:path'
import { html, Markup } from '../../base/web/markup.ts'
import { CONTENTS, type NavigationGroup, type Page, pathOf, START } from './pages.ts'

/** Pages load nothing from other sites. No script or style is inline. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"

/**
 * Creates a whole page around its rendered Markdown. The navigation comes last, so that on a phone the page starts with
 * its content.
 */
export function layout(page: Page, content: string, navigation: readonly NavigationGroup[]): string {
  const to = (path: string) => posix.relative(posix.dirname(pathOf(page.file)), path)
  const link = (file: string, text: string) => {
    const current = file === page.file ? new Markup(' aria-current="page"') : ''
    return html`<a href="${to(pathOf(file))}"${current}>${text}</a>`
  }
  const groups = navigation.map(
    ({ title, pages }) => html`
<h2>${title}</h2>
<ul>
${pages.map((one) => html`<li>${link(one.file, one.title)}</li>\n`)}</ul>`,
  )
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${new Markup(POLICY)}">
<title>${page.file === START ? '' : `${page.title} – `}Solhost</title>
<link rel="stylesheet" href="${to('site.css')}">
<script type="module" src="${to('search.js')}"></script>
</head>
<body data-root="${to('.') || '.'}">
<a class="skip" href="#content">Skip to content</a>
<header>
<p><a class="home" href="${to(pathOf(START))}">Solhost</a></p>
<p>${link(CONTENTS, 'All pages')}</p>
<search hidden>
<label for="search" class="hidden">Search the docs</label>
<input id="search" type="search" placeholder="Search" autocomplete="off" spellcheck="false" maxlength="100">
<p class="quiet" role="status"></p>
<ol class="results"></ol>
</search>
</header>
<main id="content" tabindex="-1">
${new Markup(content)}
</main>
<nav aria-label="All pages">${groups}
</nav>
</body>
</html>
`.text
}
