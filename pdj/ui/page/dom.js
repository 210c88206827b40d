// Makes elements. Text from others stays text: it is never parsed as HTML.

const SVG = 'http://www.w3.org/2000/svg';

/** Create an element. Attributes such as `onclick` become listeners; children are nodes or text. */
export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** Like `el`, for an SVG element. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat().filter((each) => each !== null && each !== undefined && each !== false));
  return node;
}

/** Replace the children of an element. */
export function show(node, ...children) {
  node.replaceChildren(...children.flat().filter((each) => each !== null && each !== undefined && each !== false));
  return node;
}

/** The nodes of a sentence, with each part between backquotes as code. */
export const words = (text) => text.split('`').map((part, at) => (at % 2 ? el('code', {}, part) : part));

/** Set a text only if it has changed, so that a selection in it stays. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
