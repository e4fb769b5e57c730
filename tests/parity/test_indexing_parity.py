"""Every kind of index compared with torch: values, strides, the names of nodes, and errors."""

from __future__ import annotations

import warnings

import pytest

import undertow as ut

torch = pytest.importorskip("torch", reason="PyTorch is the oracle here")
np = pytest.importorskip("numpy")

# Names: x (3, 4) and y (2, 3, 4) are leaves that require grad, z a clone of x, w (3, 4) plain, L = [0, 1], m the module.
READS = """
x[0]
x[...]
x[:]
x[None]
x[True]
x[False]
x[()]
x[0,1]
x[0,1,2]
x[5]
x[-4]
x[0,9]
x[0,...,1]
x[...,...]
x[...,0]
x[::-1]
x[1:0]
x[0:10:2]
x[0:3:0]
x[0.5]
x['a']
x[0,'a']
x[[0,1]]
x[[True,False,True]]
x[[[0,1],[1,2]]]
x[[slice(0,1)]]
x[[0,slice(0,1)]]
x[[None,0]]
x[[]]
x[(0,[1,2])]
x[tensor(1)]
x[tensor(1,dtype=m.int32)]
x[tensor(1,dtype=m.uint8)]
x[tensor(1,dtype=m.int16)]
x[tensor([1],dtype=m.int8)]
x[tensor([1,0,1],dtype=m.uint8)]
x[tensor(True)]
x[tensor([True,False,True])]
x[tensor([True,False])]
x[tensor([[True,False,True,False]]*3)]
x[tensor(1.0)]
x[tensor([1.0])]
x[np.array([0,1])]
x[np.array(1)]
x[np.int64(1)]
x[np.int32(1)]
x[np.bool_(True)]
x[np.array([True,False,True])]
x[np.float32(1)]
x[np.array([1.])]
x[L,L]
x[L,tensor([0,1,2])]
x[tensor([5])]
x[tensor([-5])]
x[0,tensor([7])]
y[:,L,L]
y[L,:,L]
y[0,:,L]
y[L,0]
y[L,None,L]
y[:,0,L]
y[0,L,:]
y[L]
y[:,:,L]
y[L[:,None],L]
y[None,L]
y[True,L]
y[L,True]
y[tensor([[True,False,True],[True,True,False]]),0]
y[tensor([[True,False,True],[True,True,False]]),tensor([0])]
y[...,tensor([[True,False,True,False],[True,True,False,True],[True,True,False,True]])]
y[tensor([True,False]),:,L]
x[tensor([],dtype=m.int64)]
x[[],[0,1]]
3.0 in w
tensor(3.0) in w
w[0] in w
13 in w
'a' in w
[1.0] in w
len(tensor(1))
x[0][0][0]
tensor(3)[0]
tensor(3)[None]
tensor(3)[...]
tensor(3)[()]
tensor(3)[True]
tensor(3)[tensor(True)]
tensor(3)[:]
tensor(3)[tensor([0])]
x[range(2)]
x[slice(tensor(0),tensor(2))]
x[slice(0,2.0)]
x[slice(np.int64(0),2)]
x[(slice(None),)*3]
x[2**70]
x[tensor([[0]])]
x[:,tensor([[0]])]
x[True,True]
x[0,True]
x[True,0]
x[..., None]
x[:, None, 0:2]
x[[0.5]]
x[np.array([[0,1],[1,2]])]
x[(tensor(0),tensor(1))]
x[[tensor(0),tensor(1)]]
x[[0,True]]
x[bytearray(b'ab')]
x[{0:1}]
x[:,:]
x[0:3,0:1]
x[0:2,:]
w[None,None,0,...,None]
w[0,np.array([1,2],dtype=np.int16)]
w[np.array([1,0,1],dtype=np.uint8)]
w[[range(2),range(2)]]
w['abc']
""".strip().splitlines()

# The value of `r` afterwards (w if a case does not set it).
WRITES = """
w[0]=1
w[0]=1+2j
w[0]=tensor([1,2,3,4])
w[0]=tensor([1,2,3])
w[...]=5
w[None]=5
w[True]=5
w[False]=5
w[[[True,False,True,False]]*3]=0
w[L]=tensor([1.,2.,3.,4.])
w[L]=tensor([1.,2.,3.])
w[L]=tensor(1,dtype=m.int64)
w[L]=tensor([[[[1.,2.,3.,4.]]]])
w[0]=tensor([[[1.,2.,3.,4.]]])
w[:,L]=7
w[5]=1
w['a']=1
w[0]='a'
w[0]=None
del w[0]
z[0]=1; r=z
z[L]=1; r=z
z[:, 1]=tensor([1.,2.,3.],requires_grad=True); r=z
z[0:1]=z[1:2]; r=z
z[L]+=1; r=z
x[0]=1
z[L,0]=5; r=z
z[True]=5; r=z
z[None]=5; r=z
z[...]=w; r=z
""".strip().splitlines()

OPERATORS = """
m.index_select(x,0,L)
m.index_select(x,2,L)
m.index_select(x,0,tensor([5]))
m.index_select(x,0,tensor([-1]))
m.index_select(x,0,tensor([[1]]))
m.index_select(x,0,tensor([1.]))
m.index_select(x,0,tensor(1))
m.index_select(tensor(1.),0,tensor([0]))
m.index_select(tensor(1.),0,tensor([0,0]))
m.index_select(y.permute(2,0,1),1,L)
m.gather(x,0,tensor([[0,1]]))
m.gather(x,0,tensor([[0,-1]]))
m.gather(x,0,tensor([0,1]))
m.gather(x,0,tensor([[0,1]],dtype=m.int32))
m.gather(x,0,tensor([[0.,1]]))
m.gather(x,1,m.zeros(4,2,dtype=m.int64))
m.gather(x,5,tensor([[0,1]]))
m.gather(tensor(1.),0,tensor([0,0]))
m.gather(x,0,tensor([],dtype=m.int64))
m.scatter(x,0,tensor([[0,1]]),1.5)
m.scatter(x,0,tensor([[0,1]]),x)
m.scatter(x,0,tensor([[0,1]]),i)
m.scatter(x,0,tensor([[0,9]]),1.5)
m.scatter(x,0,m.zeros(1,5,dtype=m.int64),1.5)
m.scatter(x,0,m.zeros(5,4,dtype=m.int64),1.5)
m.scatter(x,0,m.zeros(5,4,dtype=m.int64),x)
m.scatter(w,0,tensor([[0,1]]),w,reduce='add')
m.scatter(w,0,tensor([[0,1]]),2.,reduce='multiply')
m.scatter(w,0,tensor([[0,1]]),w,reduce='foo')
m.scatter(x,0,tensor([[0,1]]),1+1j)
m.scatter(x,0,tensor([[0,1]]),value=2.)
m.scatter(input=x,dim=0,index=tensor([[0,1]]),src=x)
w.scatter_(0,tensor([[0,1]]),2.)
m.scatter_add(x,0,tensor([[0,1]]),x)
m.scatter_add(w>0,0,tensor([[0,1]]),w>0)
m.scatter_reduce(x,0,tensor([[0,1]]),x,'sum')
m.scatter_reduce(x,0,tensor([[0,1]]),x,'mean',include_self=False)
m.scatter_reduce(i,0,tensor([[0,1]]),i,'mean')
m.scatter_reduce(w+1j,0,tensor([[0,1]]),w+1j,'amax')
m.scatter_reduce(w+1j,0,tensor([[0,1]]),w+1j,'prod')
m.scatter_reduce(i,0,tensor([[0,1]]),i,'amin',include_self=False)
m.index_add(x,0,L,x[:2],alpha=2)
m.index_add(x,0,L,x)
m.index_add(x,0,tensor([5]),x[:1])
m.index_add(x,0,L,x[:2,:2])
m.index_add(x,0,L,i[:2])
m.index_add(x,0,L.float(),x[:2])
m.index_add(x,0,tensor([[0]]),x[:1])
m.index_copy(x,0,L,x[:2])
m.index_copy(x,0,L,x)
m.index_copy(x,0,tensor([5]),x[:1])
m.index_copy(x,0,L.int(),x[:2])
m.index_copy(x,0,L,i[:2])
m.index_copy(x,0,L,x[:2,:2])
m.index_copy(tensor(1.),0,tensor([0]),tensor([2.]))
m.index_fill(x,0,L,2)
m.index_fill(x,0,L,tensor(2.,requires_grad=True))
m.index_fill(x,0,L,tensor([2.]))
m.index_fill(x,0,L,1j)
m.index_fill(x,0,L.int(),1)
m.index_fill(x,0,tensor([5]),1)
m.index_fill(x,0,tensor([-1]),1)
m.index_fill(x.t(),0,L,1.)
m.index_reduce(x,0,L,x[:2],'prod')
m.index_reduce(x,0,L,x[:2],'sum')
m.index_reduce(x,0,tensor([0,0]),x[:2],'mean',include_self=False)
m.index_reduce(i,0,L,i[:2],'mean')
m.index_put(x,(L,),tensor(1.))
m.index_put(x,(L,L,L),tensor(1.))
m.index_put(x,(),tensor(1.))
m.index_put(x,(L,),tensor(1))
m.index_put(x,(L,),m.ones(3),accumulate=True)
m.index_put(x,(tensor([0,0]),),m.ones(2,4),accumulate=True)
m.index_put(x.t(),(L,),tensor(1.))
m.masked_fill(x,x>3,1)
m.masked_fill(x,x>3,tensor(1.,requires_grad=True))
m.masked_fill(x,x>3,tensor([1.]))
m.masked_fill(x,i,1)
m.masked_fill(x,tensor([True,False]),1)
m.masked_fill(x[0],x>3,1)
w[0].masked_fill_(x>3,1)
m.masked_fill(x,x>3,1j)
m.masked_fill(i,i>3,1.5)
m.masked_select(x[0],x>8)
m.masked_select(x,i)
m.masked_select(tensor(1.),tensor(True))
m.masked_scatter(x,x>3,m.arange(12.))
m.masked_scatter(x,x>3,m.arange(2.))
m.masked_scatter(x,x>3,m.arange(12))
m.masked_scatter(x[0],x>3,m.arange(12.))
m.take(x,tensor([0,5,-1]))
m.take(x,tensor([12]))
m.take(x.t(),tensor([0,1,2]))
m.take(m.empty(0),tensor([0]))
m.put(x,tensor([0,5]),tensor([1.,2.]))
m.put(x.t(),tensor([1,1]),tensor([1.,2.]),accumulate=True)
m.put(x,tensor([0,5]),tensor([1.]))
m.put(x,tensor([0,15]),tensor([1.,2]))
m.take_along_dim(x,tensor([[0]]),1)
m.take_along_dim(x,tensor([[-9]]),1)
m.take_along_dim(x,tensor([0]))
m.take_along_dim(x,tensor([0]),1)
m.nonzero(tensor([[1,0],[0,2]]))
m.nonzero(tensor([[1,0],[0,2]]),as_tuple=True)
m.nonzero(tensor(3.)), m.nonzero(tensor(0.))
m.nonzero(tensor(3.),as_tuple=True)
tensor([1,0]).nonzero(as_tuple=False)
m.nonzero(tensor([1,0,1]),out=m.empty(0))
m.argwhere(tensor([[1,0],[0,2]]))
m.where(tensor([[1,0],[0,2]]))
m.nn.functional.one_hot(L,3)
m.nn.functional.one_hot(L,1)
m.nn.functional.one_hot(tensor([-1]),3)
m.nn.functional.one_hot(tensor([1.]),3)
m.nn.functional.embedding(L,x)
m.nn.functional.embedding(tensor([5]),x)
m.nn.functional.embedding(L.float(),x)
m.nn.functional.embedding(L,x[0])
m.nn.functional.embedding(L,x,padding_idx=5)
m.diagonal_scatter(x,m.ones(3))
m.diagonal_scatter(x,m.ones(2))
m.select_scatter(x,m.ones(4),0,1)
m.select_scatter(x,m.ones(3),0,1)
m.select_scatter(x,m.ones(4),0,7)
m.slice_scatter(x,m.ones(1,4),0,1,2)
m.slice_scatter(x,m.ones(1,4),0,1,3)
m.unravel_index(tensor(5),(3,4))
m.unravel_index(tensor(-1),(3,4))
m.unravel_index(tensor(5),(3,-4))
m.unravel_index(tensor(5.),(3,4))
""".strip().splitlines()


def names(m):
    x = m.arange(12.0).reshape(3, 4).requires_grad_()
    y = m.arange(24.0).reshape(2, 3, 4).requires_grad_()
    return {
        "m": m,
        "np": np,
        "tensor": m.tensor,
        "L": m.tensor([0, 1]),
        "x": x,
        "y": y,
        "z": x.clone(),
        "w": m.arange(12.0).reshape(3, 4),
        "i": m.arange(12).reshape(3, 4),
    }


def describe(r):
    if isinstance(r, (torch.Tensor, ut.Tensor)):
        chain, node = [], r.grad_fn
        while node is not None and len(chain) < 6:
            chain.append(node.name().removeprefix("torch::autograd::"))
            node = node.next_functions[0][0] if node.next_functions else None
        return [list(r.shape), str(r.dtype).split(".")[-1], list(r.stride()), chain, r.detach().tolist()]
    if isinstance(r, (tuple, list)):
        return [describe(v) for v in r]
    return r


def outcome(m, case, write):
    scope = names(m)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not write:
                return describe(eval(case, scope))
            exec(case, scope)
            return describe(scope.get("r", scope["w"]))
    except (NameError, SyntaxError):
        raise  # a mistake in the case
    except Exception as e:
        return type(e)


@pytest.mark.parametrize("case", READS)
def test_reads(case):
    assert outcome(ut, case, False) == outcome(torch, case, False)


@pytest.mark.parametrize("case", WRITES)
def test_writes(case):
    assert outcome(ut, case, True) == outcome(torch, case, True)


@pytest.mark.parametrize("case", OPERATORS)
def test_operators(case):
    assert outcome(ut, case, False) == outcome(torch, case, False)


@pytest.mark.parametrize(
    "case",
    [
        "x[5]",
        "x[0, 9]",
        "x[0, 1, 2]",
        "x[tensor([5])]",
        "x[0.5]",
        "x[tensor([1.0])]",
        "x[L, tensor([0, 1, 2])]",
        "x[tensor([True, False])]",
        "x[0][0][0]",
        "x[::-1]",
        "'a' in w",
        "m.index_select(w, 0, tensor([[1]]))",
        "m.gather(w, 0, tensor([[0, 9]]))",
        "m.scatter_reduce(w, 0, tensor([[0, 1]]), w, 'foo')",
        "m.masked_fill(w, i, 1)",
        "m.take(w, tensor([12]))",
    ],
)
def test_messages(case):
    def text(m):
        with pytest.raises(Exception) as e:
            eval(case, names(m))
        return str(e.value).split("\n")[0].rstrip(".")

    assert text(ut).startswith(text(torch))
