import { parse, type DefaultTreeAdapterTypes as Tree } from 'parse5'
import { expect, test } from 'vitest'
import { compileTemplate } from '../../../runtime/template/compile-template.ts'
import { fillTemplate } from '../../../runtime/template/fill-template.ts'

const FORM =
  '<form name="login_form" role="form" method="post"><input name="password"><input type="checkbox" name="username"></form>'

/** Lists a document's nodes, one per line: elements with their attributes, texts, comments and doctypes. */
function outline(html: string): string[] {
  const lines: string[] = []
  const visit = (node: Tree.Node, depth: number) => {
    if ('tagName' in node) {
      const attrs = node.attrs
        .filter(({ name }) => name !== 'nonce')
        .map(({ prefix, name, value }) => [prefix, name, value])
      lines.push(`${depth} ${node.namespaceURI} ${node.tagName} ${JSON.stringify(attrs)}`)
    } else if ('value' in node) lines.push(`${depth} ${JSON.stringify(node.value)}`)
    else if ('data' in node) lines.push(`${depth} <!--${node.data}-->`)
    else if ('publicId' in node) lines.push(`${depth} ${node.name} ${node.publicId} ${node.systemId}`)
    if ('content' in node) visit(node.content, depth + 1)
    if ('childNodes' in node) for (const child of node.childNodes) visit(child, depth + 1)
  }
  visit(parse(html, { scriptingEnabled: false }), 0)
  return lines.filter((line) => !line.includes('csrf_token'))
}

test.each([
  '<pre>\n\na</pre><textarea>\n\nb</textarea><listing>\n\nc</listing><pre>\na</pre><pre><b>\n</b></pre>',
  '<style>a > b & c { content: "</p>" }</style><xmp><b>&amp;</xmp><noembed><b></noembed><noframes><b></noframes>',
  '<script>if (a < b && c) "<p>"; //<!-- <script> </script> --> \n</script>',
  '<p title="&amp;quot;&quot;\'<>&#13;\u00a0&nbsp;">&amp;lt;&lt;\u00a0&nbsp;&#13;"\'&amp</p>',
  '<svg viewbox="0 0 1 1" xlink:href="a" xml:lang="b" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"><foreignobject><p>a</p></foreignobject><lineargradient/><![CDATA[<b>&]]></svg>',
  '<math definitionurl="x"><mi>a</mi><annotation-xml encoding="text/html"><p>b</p></annotation-xml></math>',
  '<template><tr><td>a</td></tr><script>1 < 2</script></template><table><template><td>x</template></table>',
  '<!-- a -- b --><!----><!--a--!><!-- -><?php a ?><!x></ y>',
  '<table><caption>a</caption><colgroup><col></colgroup>b<tr><td>c</table>',
  '<p>a<p>b<li>c<li>d<dl><dt>e<dd>f</dl><select><option>g<option>h<optgroup><option>i</select>',
  '<noscript><p title="</noscript>">a</p><style>p{}</style></noscript>',
  '<p =a "b\'c <d e&f>x</p><a-b c:d="e">y</a-b>',
  '<b><p>a</b>b</p><i>c<div>d</i>e</div>',
  '<iframe srcdoc="<p>a</p>"><b></iframe><img alt=a><br></br><image><input disabled>',
  '</body>a<!-- b --></html><!-- c -->\n',
])('login template: the result for %s has the same tree when it is parsed again', (html) => {
  for (const before of [
    '<!DOCTYPE html>\n<!-- x --><html lang=en><head>\n<title>a&amp;b</title></head>\n<body>',
    '<!DOCTYPE html>',
  ]) {
    const source = before + FORM + html
    const { template } = compileTemplate(source, 'media/login.html')
    if (!template) throw new Error('no template')
    const page = fillTemplate(template, {
      nonce: 'N',
      formToken: '',
      failed: false,
      message: () => null,
      value: () => null,
      fields: new Map(),
    })
    expect(outline(page)).toEqual(outline(source))
  }
})

test('login template: plaintext stays the last element', () => {
  const { template } = compileTemplate(`<!DOCTYPE html>${FORM}<plaintext>a</plaintext><b>`, 'media/login.html')
  expect(template?.parts.at(-1)).toMatch(/<plaintext>a<\/plaintext><b>$/)
})

test('login template: elements that cannot be nested in HTML text are rejected or written as a browser parses them', () => {
  const source = `<!DOCTYPE html>${FORM}<form id=a><div></form><form id=b>x</form></div>`
  const { template } = compileTemplate(source, 'media/login.html')
  expect(template?.parts.at(-1)).toContain('<form id="a"><div>x</div></form>')
})

test('login template: content that is not allowed in a noscript element in head stays inside it', () => {
  const head = '<title>a</title><noscript><p>b</p></noscript><link rel="x">'
  const { template } = compileTemplate(`<!DOCTYPE html><head>${head}</head><body class="c">${FORM}`, 'media/login.html')
  expect(template?.parts[0]).toBe('<!DOCTYPE html><html><head><title>a</title>')
  expect(template?.parts[2]).toMatch(/^<\/head><body class="c"><noscript><p>b<\/p><\/noscript><link rel="x"><form /)
})
